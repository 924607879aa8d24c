"""Processes as twins: described on request; named ones are followed."""
