"""SHACL shapes of the twin and the one place that validates with them."""
