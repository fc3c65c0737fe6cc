"""What runs the work of a scan."""
