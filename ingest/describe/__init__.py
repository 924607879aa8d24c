"""Facts to triples: one file per part of a machine."""
