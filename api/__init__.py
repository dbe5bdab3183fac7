"""REST API: routes, schemas, errors."""
