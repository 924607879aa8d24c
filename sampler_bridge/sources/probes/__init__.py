"""Probes of functions and events as a source: counted and timed by BPF."""
