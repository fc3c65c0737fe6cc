"""Many sessions at once: what a terminal shows of them, and a page that is served."""
