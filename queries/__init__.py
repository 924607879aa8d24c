"""Saved SPARQL queries, their catalogue, and the client of the graph store."""
