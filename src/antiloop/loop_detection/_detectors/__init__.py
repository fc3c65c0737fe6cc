"""The detectors, one in each file, and their base classes."""
