"""The readers, one recorded format a file."""
