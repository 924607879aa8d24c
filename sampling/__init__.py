"""The control plane: what is sampled, what it costs, what became of it."""
