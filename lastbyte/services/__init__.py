"""Use cases: what a user can do with campaigns, cells and heatmaps."""
