"""What became of every point, and what sampling costs."""
