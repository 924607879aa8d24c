"""``/history``: the states of a host, and what changed between two of them."""
