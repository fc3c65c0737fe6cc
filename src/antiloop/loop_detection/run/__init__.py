"""What a monitor keeps of its run, and does step by step."""
