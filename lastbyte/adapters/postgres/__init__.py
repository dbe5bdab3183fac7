"""PostgreSQL: tables, engine and the stores behind the ports."""
