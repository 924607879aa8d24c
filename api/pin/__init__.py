"""``/pin``: where threads and ranks are placed on a host, and why."""
