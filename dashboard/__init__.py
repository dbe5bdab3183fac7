"""Dash: pages, figures, callbacks and the REST client."""
