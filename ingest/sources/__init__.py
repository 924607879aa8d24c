"""Read the facts of this machine or of a copy of another: one file per source."""
