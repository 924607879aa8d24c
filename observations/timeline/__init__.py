"""Exports runs as timelines for other tools."""
