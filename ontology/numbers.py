"""Parse numbers in machine notation: Python's own parsers accept far more."""

import re

_WHOLE = re.compile(r"-?[0-9]{1,20}")
_HEXADECIMAL = re.compile(r"(?:0x)?[0-9A-Fa-f]{1,16}")
_DECIMAL = re.compile(r"-?[0-9]{1,20}(?:\.[0-9]{1,20})?(?:[eE][+-]?[0-9]{1,3})?")


def read_whole(text: str) -> int:
    """A whole number of at most 20 digits; raises ValueError.

    int() also accepts underscores, white space and the digits of every script.
    """
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"{text[:40]!r} is not a whole number")
    return int(text)


def read_hexadecimal(text: str) -> int:
    """A number of at most 64 bits, with or without ``0x``; raises ValueError."""
    if not _HEXADECIMAL.fullmatch(text):
        raise ValueError(f"{text[:40]!r} is not a hexadecimal number")
    return int(text, 16)


def read_decimal(text: str) -> float:
    """A number with or without a fraction or an exponent; raises ValueError."""
    if not _DECIMAL.fullmatch(text):
        raise ValueError(f"{text[:40]!r} is not a number")
    return float(text)
