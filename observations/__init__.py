"""Runs commands pinned and sampled, and records what they did."""
