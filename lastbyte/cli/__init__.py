"""The command line: where everything is wired for one process."""
