"""Adapters for benchmarks that are installed: their commands, and what they print."""
