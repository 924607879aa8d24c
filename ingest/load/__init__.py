"""Write descriptions to the store: one by one, or many at once."""
