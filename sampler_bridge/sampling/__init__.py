"""Ticks: when is fetched, and what becomes of the values."""
