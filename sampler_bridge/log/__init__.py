"""The log on disk in which points wait."""
