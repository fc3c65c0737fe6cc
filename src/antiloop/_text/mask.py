"""Define what is shown in the place of a secret."""

MASK = "***"
