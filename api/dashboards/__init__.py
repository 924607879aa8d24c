"""Dashboards as the web page shows them: specs, points, live streams."""
