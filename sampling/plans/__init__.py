"""Plans that are added to a host: requested, checked, written and removed."""
