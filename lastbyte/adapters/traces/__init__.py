"""Captures and qlogs, read. Nothing here knows where they are kept."""
