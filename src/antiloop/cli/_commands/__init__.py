"""The commands, one a file, and what one command alone needs."""
