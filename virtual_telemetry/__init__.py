"""Telemetry that is computed from other telemetry by an expression."""
