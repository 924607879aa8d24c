"""What this machine, or a copy of it, says: one file per source."""
