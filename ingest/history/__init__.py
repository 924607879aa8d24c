"""What a host was like before, and what changed."""
