"""Local origins that stand in for production: servers, certificates, objects."""
