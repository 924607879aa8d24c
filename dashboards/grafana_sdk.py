"""Grafana's builders, re-exported for the other modules of this folder."""

import warnings
from enum import Enum
from typing import Any

with warnings.catch_warnings():
    # We want the classic schema, which every Grafana since 10 imports.
    warnings.simplefilter("ignore", DeprecationWarning)
    from grafana_foundation_sdk.builders import (
        bargauge,
        common,
        dashboard,
        heatmap,
        prometheus,
        stat,
        table,
        text,
        timeseries,
        xychart,
    )
    from grafana_foundation_sdk.models.dashboard import (
        DashboardCursorSync,
        DashboardLinkType,
        DataTransformerConfig,
        DynamicConfigValue,
        MatcherConfig,
        VariableOption,
        VariableRefresh,
    )

__all__ = [
    "DashboardCursorSync",
    "DashboardLinkType",
    "DataTransformerConfig",
    "DynamicConfigValue",
    "MatcherConfig",
    "VariableOption",
    "VariableRefresh",
    "bargauge",
    "common",
    "dashboard",
    "document",
    "heatmap",
    "prometheus",
    "stat",
    "table",
    "text",
    "timeseries",
    "xychart",
]


def document(value: Any) -> Any:
    """Convert a builder's result to dictionaries, lists and plain values for JSON."""
    if hasattr(value, "to_json"):
        value = value.to_json()
    if isinstance(value, dict):
        return {key: document(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [document(part) for part in value]
    return value.value if isinstance(value, Enum) else value
