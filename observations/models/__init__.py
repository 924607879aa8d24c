"""Models of the time of a program, fitted to its runs."""
