"""Control groups as twins: what the bridge notices is described."""
