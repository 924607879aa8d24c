"""Convert texts of the original's probe files to numbers, and check types.

The original stores the output of its tools as printed: ``32 kB``, ``257867 MB``,
``1Gbit/s``, ``2300.0``. A missing value is an empty text.
"""

import re
from typing import Any

from ingest.errors import ProbeDocumentError
from ingest.gaps import report_gap
from ingest.hwloc.xml import MAX_CPUS

_QUANTITY = re.compile(r"([0-9]{1,12})(\.[0-9]{1,6})? ?([A-Za-z/]{1,8})")
# likwid and numactl write kB but mean KiB.
_BYTES = {"B": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
_BITS = {"bit/s": 1, "Kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9}
# How the original's tools wrote unknown values.
_OPEN = (None, "", 0, "0", "no-link", "virtual")
_FIX = "use an unchanged probe file of the original SuperTwin"


def malformed(place: str, expected: str) -> ProbeDocumentError:
    """The error for a part that differs from the original's format."""
    return ProbeDocumentError(f"{place} is not {expected}: {_FIX}")


def member(holder: Any, place: str, *names: str) -> Any:
    """The value at a path of names; None if it or an object on the path is missing.

    Raises ProbeDocumentError if a value on the path is not an object.
    """
    for name in names:
        if not isinstance(holder, dict):
            raise malformed(place, "an object")
        holder = holder.get(name)
        place = f"{place}.{name}"
        if holder is None:
            return None
    return holder


def entries(holder: Any, place: str, *names: str) -> dict[str, Any]:
    """An object at a path of names, empty if it is missing; raises
    ProbeDocumentError.
    """
    found = member(holder, place, *names)
    # The original's tools write an empty list for nothing.
    if found is None or found == []:
        return {}
    if not isinstance(found, dict):
        raise malformed(".".join((place, *names)), "an object")
    return found


def text(holder: Any, place: str, *names: str) -> str | None:
    """A text, stripped; None for an empty one. Raises ProbeDocumentError."""
    found = member(holder, place, *names)
    if found is None:
        return None
    if not isinstance(found, str):
        raise malformed(".".join((place, *names)), "a text")
    return found.strip() or None


def whole(value: Any) -> int | None:
    """A whole number, also one written as text; None for anything else."""
    if isinstance(value, str) and re.fullmatch("[0-9]{1,18}", value):
        return int(value)
    good = isinstance(value, int) and not isinstance(value, bool)
    return value if good and 0 <= value < 1 << 63 else None


def count(value: Any, place: str) -> int | None:
    """A whole number; a value that is neither a number nor empty is reported."""
    return _reported(whole(value), value, place, "a whole number")


def bytes_in(value: Any) -> int | None:
    """Bytes, from ``32 kB`` or a number; None for anything else."""
    return _quantity(value, _BYTES)


def size(value: Any, place: str) -> int | None:
    """Bytes; a value that is neither a size nor empty is reported."""
    return _reported(bytes_in(value), value, place, "a size such as 32 kB")


def speed(value: Any, place: str) -> int | None:
    """Bits per second, from ``1Gbit/s``; reported like a size."""
    return _reported(_quantity(value, _BITS), value, place, "a speed such as 1Gbit/s")


def hertz(value: Any, place: str) -> int | None:
    """Hertz, from a number of MHz; reported like a size."""
    good = isinstance(value, int | float) and not isinstance(value, bool)
    found = round(value * 1_000_000) if good and 0 < value < 1_000_000 else None
    return _reported(found, value, place, "a number of MHz")


def _reported(found: int | None, value: Any, place: str, expected: str) -> int | None:
    if found is None and value not in _OPEN:
        report_gap(place, value, expected)
    return found


def cpus(value: Any, place: str) -> list[int]:
    """CPU numbers in order, without duplicates; raises ProbeDocumentError."""
    good = isinstance(value, list) and all(map(_is_cpu, value))
    if not good or len(set(value)) != len(value):
        raise malformed(place, "a list of distinct CPU numbers")
    return sorted(value)


def index(word: str, place: str) -> int:
    """A number that is used as a name; raises ProbeDocumentError."""
    if not re.fullmatch("[0-9]{1,5}", word) or int(word) >= MAX_CPUS:
        raise malformed(f"{place}[{word[:40]!r}]", "named by a number")
    return int(word)


def _is_cpu(value: Any) -> bool:
    whole_number = isinstance(value, int) and not isinstance(value, bool)
    return whole_number and 0 <= value < MAX_CPUS


def _quantity(value: Any, units: dict[str, int]) -> int | None:
    if not isinstance(value, str):
        return whole(value) or None
    match = _QUANTITY.fullmatch(value.strip())
    if not match or match[3] not in units:
        return whole(value.strip()) or None
    return round(float(match[1] + (match[2] or "")) * units[match[3]]) or None
