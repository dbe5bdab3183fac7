"""Pages: what stands where. Each module turns API answers into components; callbacks call these functions."""
