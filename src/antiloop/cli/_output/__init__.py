"""Print and write the results of commands."""
