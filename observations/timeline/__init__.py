"""Runs as timelines that other tools draw."""
