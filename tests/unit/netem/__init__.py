"""Unit tests of the shaped path."""
