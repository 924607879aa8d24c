"""Times in requests for samples: those that the functions of samples take.

A time is an ``xsd:dateTime`` (UTC without a zone), Unix seconds, ``now`` or ``now-1h``.
"""

import re
from datetime import UTC, datetime

from core.stores.errors import SamplesError

# The end of the year 9999. The store has no times before 1970.
LATEST_MS = 253_402_300_799_999
_NUMBER = re.compile(r"[0-9]{1,12}(\.[0-9]{1,9})?")
_RELATIVE = re.compile(r"now(?:-([0-9]{1,9}(?:\.[0-9]+)?)(ms|s|m|h|d|w|y))?")
_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_UNITS |= {"w": 604_800_000, "y": 31_536_000_000}
_WRITE = 'write an xsd:dateTime, Unix seconds, "now" or "now-1h"'


def time_ms(text: str, now_ms: int, what: str) -> int:
    """Return a time in Unix milliseconds; raises SamplesError, which names ``what``."""
    found = _any_time(text.strip(), now_ms)
    if found is None:
        plus = ", with + as %2B in a URL" if " " in text.strip() else ""
        raise SamplesError(f"{what} {text[:60]!r} is not a time: {_WRITE}{plus}")
    if not 0 <= found <= LATEST_MS:
        raise SamplesError(f"{what} {text[:60]!r} is not between 1970 and 9999")
    return found


def absolute_ms(text: str) -> int | None:
    """Return an ``xsd:dateTime`` or Unix seconds in milliseconds; None for others."""
    if _NUMBER.fullmatch(text):
        return round(float(text) * 1000)
    if "T" not in text:
        return None
    try:
        found = datetime.fromisoformat(text)
        aware = found if found.tzinfo else found.replace(tzinfo=UTC)
        return round(aware.timestamp() * 1000)
    except (OverflowError, ValueError):
        return None


def seconds_text(ms: int) -> str:
    """Write milliseconds as seconds with three decimals."""
    return f"{ms // 1000}.{ms % 1000:03d}"


def utc_text(ms: int) -> str:
    """Write milliseconds as an ``xsd:dateTime`` in UTC."""
    whole = datetime.fromtimestamp(ms // 1000, UTC)
    return f"{whole:%Y-%m-%dT%H:%M:%S}.{ms % 1000:03d}Z"


def _any_time(text: str, now_ms: int) -> int | None:
    relative = _RELATIVE.fullmatch(text)
    if relative is None:
        return absolute_ms(text)
    number, unit = relative.groups()
    return now_ms - (round(float(number) * _UNITS[unit]) if number else 0)
