"""Ticks: when to fetch, and where the values go."""
