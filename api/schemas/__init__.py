"""What goes in and comes out as JSON."""
