"""Recordings that are read while they are written."""
