"""A backup of the whole state in one folder, and its way back into an empty one."""
