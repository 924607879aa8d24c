"""Samples of telemetry over HTTP: read by IRI, imported, and deleted."""
