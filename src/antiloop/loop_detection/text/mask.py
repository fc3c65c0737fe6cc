"""What is shown where a secret stood."""

MASK = "***"
