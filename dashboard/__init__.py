"""The dashboard: Dash pages over the REST API, with no database and no assets from elsewhere."""
