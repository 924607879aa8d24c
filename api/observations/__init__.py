"""``/observations``: commands run under observation, followed and ended."""
