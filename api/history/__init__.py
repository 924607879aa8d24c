"""``/history``: the states that a host was in, and what changed between two of them."""
