"""Integration tests of the shaped path."""
