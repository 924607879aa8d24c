"""Describes the control groups that the bridge finds."""
