"""The machine drawn, coloured by its load."""
