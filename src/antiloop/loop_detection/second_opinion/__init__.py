"""What a judge is asked, shown and answers."""
