"""Earlier states of a host, and the changes between them."""
