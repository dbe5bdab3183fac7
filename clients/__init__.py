"""Client variants as data, and how each is built."""
