"""The HTTP service: SPARQL, saved queries, every IRI of the twin, health."""
