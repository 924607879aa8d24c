"""Processes as twins: made when they are asked for, and named ones followed."""
