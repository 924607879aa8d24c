"""SHACL shapes of the twin, and the only place that validates with them."""
