"""Back up the whole state into one folder, and restore it into an empty one."""
