"""Benchmarks: programs of known work, run under observation, and their results."""
