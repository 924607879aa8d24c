"""Dashboards for the web page: specs, points, live streams."""
