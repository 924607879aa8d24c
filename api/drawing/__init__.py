"""The drawing of a machine, coloured by its load."""
