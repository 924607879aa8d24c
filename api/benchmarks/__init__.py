"""Benchmarks of hosts: their results at their IRIs, and the roofline model."""
