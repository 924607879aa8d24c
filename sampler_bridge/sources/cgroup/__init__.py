"""Control groups as a source: finds them, samples them, and keeps a list."""
