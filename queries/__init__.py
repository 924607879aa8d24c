"""Saved SPARQL queries, their catalogue and parameter binding."""
