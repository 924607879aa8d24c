"""Runs commands under observation: pins them, samples during the run, records it."""
