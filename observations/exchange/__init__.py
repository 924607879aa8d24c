"""Runs that leave for another installation, or come from it."""
