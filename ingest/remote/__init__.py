"""Machines over ssh, and copies of machines."""
