"""Probe files of the original SuperTwin."""
