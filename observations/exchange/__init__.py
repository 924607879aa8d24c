"""Moves runs between installations."""
