"""Run the work of a scan."""
