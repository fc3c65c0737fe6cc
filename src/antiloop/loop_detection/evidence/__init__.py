"""What is known of a call and its result, and of the last calls of a run."""
