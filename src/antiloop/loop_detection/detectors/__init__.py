"""The detectors: what they have in common, and one a file."""
