"""Samples what the graph plans from a source (PCP) into VictoriaMetrics."""
