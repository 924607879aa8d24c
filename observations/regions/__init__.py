"""The regions that a program names: their times and events, as parts of its run."""
