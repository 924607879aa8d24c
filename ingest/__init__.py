"""From a machine to its graph: sources, facts, description, publishing."""
