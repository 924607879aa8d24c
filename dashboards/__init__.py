"""Dashboards generated from saved queries: one spec, two renderers."""
