"""Checks of the fields in foreign outputs: type, range and length."""

import re
from typing import Any

from benchmarks.errors import BenchmarkOutputError

# More threads, and larger sizes, than any machine has.
MOST_THREADS, MOST_ELEMENTS = 10**8, 10**15
# A rate in FLOP/s, B/s or operations/s, or a latency in ns.
_LEAST_FIGURE, _MOST_FIGURE = 1e-9, 1e21
_LONGEST_TEXT, _SHOWN = 100, 40
_WHOLE = re.compile(r"[0-9]{1,18}")
_LINE = re.compile(rf".{{1,{_LONGEST_TEXT}}}")


def whole(name: str, value: object, most: int = MOST_THREADS) -> int:
    """Read a whole number from 1 to ``most``; raises BenchmarkOutputError."""
    text = str(value)
    if not (_WHOLE.fullmatch(text) and 1 <= int(text) <= most):
        raise _bad(name, value, f"a whole number from 1 to {most}")
    return int(text)


def figure(name: str, value: Any, factor: float = 1.0) -> float:
    """Multiply a number by a factor; raises BenchmarkOutputError if it is impossible.

    The result is in FLOP/s, B/s, operations/s or ns.
    """
    least, most = _LEAST_FIGURE / factor, _MOST_FIGURE / factor
    # A comparison with NaN is false, and whole numbers of any size do not overflow.
    if type(value) not in (int, float) or not least <= value <= most:
        raise _bad(name, value, f"a number from {least:g} to {most:g}")
    return float(factor * value)


def number(name: str, text: str | None) -> float:
    """Read a number that may be infinite or NaN; raises BenchmarkOutputError."""
    try:
        return float(text or "")
    except ValueError:
        raise _bad(name, text, "a number") from None


def line(name: str, value: object) -> str:
    """Return a text of one short line; raises BenchmarkOutputError."""
    if not isinstance(value, str) or not _LINE.fullmatch(value):
        raise _bad(name, value, f"one line of 1 to {_LONGEST_TEXT} characters")
    if not value.isprintable():
        raise _bad(name, value, "printable characters")
    return value


def shown(value: object) -> str:
    """Return the beginning of a value for a message, in printable characters."""
    return ascii(value)[:_SHOWN]


def _bad(name: str, value: object, expected: str) -> BenchmarkOutputError:
    found = "nothing" if value is None else shown(value)
    return BenchmarkOutputError(f"{name}: expected {expected}, found {found}")
