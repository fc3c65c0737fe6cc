"""What runs did and wasted: their sums, and how a terminal and a page show them."""
