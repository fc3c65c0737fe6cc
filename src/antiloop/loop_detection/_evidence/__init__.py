"""The evidence: a call and its result as compared, and the last calls of a run."""
