"""The schema of a probe document."""
