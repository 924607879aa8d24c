"""The control plane: what is sampled, what it costs, and why values are missing."""
