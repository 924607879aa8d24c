"""The web pages: what every page shares, and the plain ones."""
