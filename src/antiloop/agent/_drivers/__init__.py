"""Drivers carry out the requests of the core loop: one for sync runs and one for async runs."""
