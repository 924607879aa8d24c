"""What is to be sampled, as the graph says."""
