"""PostgreSQL, Valkey and the whole system as child processes, without Docker."""
