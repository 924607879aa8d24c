"""Control groups as a source: they are found, sampled, and kept in a list."""
