"""Format a number or a text for people: on pages, in tables and in messages."""

import math
from decimal import ROUND_HALF_UP, Context, Decimal

Number = int | float | Decimal

# Beyond these limits an exponent is easier to read than zeros.
_SMALLEST, _LARGEST = Decimal("1e-4"), Decimal("1e15")


def figures(number: Number, digits: int = 4) -> str:
    """``17``, ``0.25``, ``381469``: integers exactly, others rounded to ``digits``."""
    if not math.isfinite(number):
        return str(float(number))
    exact = Decimal(number)
    size = abs(exact)
    if isinstance(number, int) or (number == int(number) and size < _LARGEST):
        return str(int(number))
    is_plain = _SMALLEST <= size < _LARGEST
    kept = max(digits, exact.adjusted() + 1) if is_plain else digits
    rounded = Context(kept, ROUND_HALF_UP).create_decimal(exact).normalize()
    return f"{rounded:f}" if is_plain else f"{rounded:e}"


def one_line(text: str, most: int = 80) -> str:
    """Return a text, such as a script, as one line of at most ``most`` characters."""
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
