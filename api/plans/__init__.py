"""``/plans``: what is sampled, and how often."""
