"""Clients of Fuseki and of VictoriaMetrics."""
