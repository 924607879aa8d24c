"""Finds control groups, keeps a list of them, and samples them."""
