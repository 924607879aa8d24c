"""Sends points from the logs to the series store."""
