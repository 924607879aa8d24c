"""Runs set side by side."""
