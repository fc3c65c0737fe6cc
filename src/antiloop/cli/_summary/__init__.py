"""Sum what runs did and wasted, and show it on a terminal and on a page."""
