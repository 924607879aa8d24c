"""Numbers as people read them: on pages, in tables and in messages.

`api/web/static/charts/units.js` does the same for what a browser draws.
"""

import math
from decimal import Decimal

from dashboards.spec import Unit

Number = int | float | Decimal

_STEPS = {
    "binary": (1024, ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")),
    "decimal": (1000, ("", "k", "M", "G", "T", "P", "E")),
}
# Beyond these an exponent is easier to read than zeros.
_SMALLEST, _LARGEST = 1e-4, 1e15


def figures(number: Number, digits: int = 4) -> str:
    """``17``, ``0.25``, ``381469``: whole numbers exactly, others with so many digits.

    No digit before the point is dropped. Numbers from 10¹⁵ on, and those below 10⁻⁴,
    have an exponent.
    """
    value = float(number)
    if not math.isfinite(value):
        return str(value)
    size = abs(value)
    if number == int(number) and (size < _LARGEST or isinstance(number, int)):
        return str(int(number))
    if not _SMALLEST <= size < _LARGEST:
        return f"{value:.{digits}g}"
    behind = max(digits - 1 - math.floor(math.log10(size)), 0)
    text = f"{value:.{behind}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


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
