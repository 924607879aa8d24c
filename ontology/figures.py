"""A number as people read it: on pages, in tables and in messages."""

import math
from decimal import Decimal

Number = int | float | Decimal

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
