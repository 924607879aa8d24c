"""``/pin``: where threads and ranks go on a host, and why there."""
