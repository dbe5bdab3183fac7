"""Readers of results made elsewhere. Parsing is pure; files are opened at the edge only."""
