"""What a measurement is: domain, statistics, use cases, adapters and the command line."""
