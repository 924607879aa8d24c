"""Probes of functions, USDT probes and tracepoints: definitions, checks and cost."""
