"""What is to be sampled, according to the graph."""
