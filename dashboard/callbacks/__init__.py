"""Callbacks, thin: they fetch, call a page's pure functions, and say what did not change."""
