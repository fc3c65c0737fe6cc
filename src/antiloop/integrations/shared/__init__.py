"""What adapters are built from."""
