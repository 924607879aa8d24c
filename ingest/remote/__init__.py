"""Probe machines over ssh, or from copies of their files."""
