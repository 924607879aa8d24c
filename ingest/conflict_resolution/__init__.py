"""Which source is believed where several know."""
