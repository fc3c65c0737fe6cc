"""What a page shows of runs, as plain data: their order, loops, costs, scores and texts."""
