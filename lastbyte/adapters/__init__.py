"""The outside world behind the ports of lastbyte.ports."""
