"""Turn runs into the plain data of a page: their order, loops, costs, scores and texts."""
