"""The datasets as wholes: their versions, and how they describe themselves."""
