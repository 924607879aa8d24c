"""Profiles of runs: stacks on CPU, sampled by perf, as a call tree."""
