"""Keep what people said about findings as labels, and count what thresholds cost in recall."""
