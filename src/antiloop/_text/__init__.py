"""Work on text: write canonical JSON, mask, shorten and compare."""
