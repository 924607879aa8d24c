"""From the logs into the series store."""
