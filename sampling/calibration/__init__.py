"""What sampling costs on this machine: calibrated, and estimated from the graph."""
