"""Descriptions into the store: one by one, or many at once."""
