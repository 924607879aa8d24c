"""Samples the metrics that the graph plans from PCP into VictoriaMetrics."""
