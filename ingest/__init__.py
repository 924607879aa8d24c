"""From the machine to the graph: sources, facts, description, publishing."""
