"""Formats figures of runs for readers."""

from dashboards.spec import Unit
from dashboards.units import quantity
from ontology.figures import figures

_MINUTE, _HOUR = 60, 3600


def figure(value: float | None, unit: Unit, scale: float = 1.0) -> str:
    """Format as ``1.2 kB/s``, empty for None; ``scale`` converts to the unit."""
    if value is None:
        return ""
    return quantity(float(value) * float(scale), unit)


def duration(seconds: float | None) -> str:
    """Format as ``518 ms``, ``12.3 s``, ``1 min 35 s``, ``3 h 20 min``; or empty."""
    if seconds is None:
        return ""
    if seconds < 1:
        return f"{figures(1000 * seconds, 3)} ms"
    if seconds < _MINUTE:
        return f"{figures(seconds, 3)} s"
    whole = round(seconds)
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE} s"
    return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE} min"
