"""Clients of Fuseki and VictoriaMetrics."""
