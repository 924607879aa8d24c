"""Numbers as people read them: on pages, in tables and in messages.

`api/web/static/charts/units.js` does the same for what a browser draws.
"""

from dashboards.spec import Unit
from ontology.figures import Number, figures

__all__ = ["Number", "figures", "quantity"]

_STEPS = {
    "binary": (1024, ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")),
    "decimal": (1000, ("", "k", "M", "G", "T", "P", "E")),
}


def quantity(number: Number, unit: Unit) -> str:
    """``32 KiB``, ``2.4 GHz``, ``17``, ``98.5 %``: at most four digits that matter."""
    if unit.grafana == "percentunit":
        return f"{figures(100 * float(number))} %"
    if unit.prefixes == "none":
        return f"{figures(number)} {unit.symbol}".strip()
    step, prefixes = _STEPS[unit.prefixes]
    power = 0
    # Rounding must not give 1024 KiB, or 1000 kB.
    while abs(float(figures(number))) >= step and power < len(prefixes) - 1:
        number = float(number) / step
        power += 1
    return f"{figures(number)} {prefixes[power]}{unit.symbol}".strip()
