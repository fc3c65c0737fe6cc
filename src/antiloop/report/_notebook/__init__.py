"""Objects as small pictures in a notebook."""
