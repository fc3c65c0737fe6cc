"""What carries out the requests of the core loop: a driver for sync runs and one for async runs."""
