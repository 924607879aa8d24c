"""The form that a probe's document has."""
