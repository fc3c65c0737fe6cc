"""Files and streams as lines: opened, unpacked, cut, added to."""
