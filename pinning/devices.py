"""Which CPUs a policy means by a device or a kind of core: rows of saved queries."""

from collections.abc import Iterable, Mapping
from typing import Any

from pinning.errors import PlaceError
from pinning.policy import Cores

Row = Mapping[str, Any]

_FAST, _SLOW = "IntelCore", "IntelAtom"


def near_cpus(host: str, rows: Iterable[Row], device: str, name: str) -> frozenset[int]:
    """The CPUs nearest to a device, of the rows of ``topology/near-devices``.

    By its name, its PCI address, or a name that a driver has for it, such as
    ``mlx5_0``. Raises PlaceError for one that the host lacks, that is used as something
    else, or that is near to nothing.
    """
    known = [row for row in rows if row["cpus"]]
    named = [row for row in known if name in (row["name"], row["address"])]
    cpus = _all(row for row in named if row["kind"] == device)
    if not cpus:
        said = _another(named) or _unknown(known, device)
        raise PlaceError(f"near:{device}={name}: {host} has no such {device} {said}")
    return cpus


def _another(named: Iterable[Row]) -> str:
    kinds = " and ".join(sorted({str(row["kind"]) for row in named}))
    return f"by that name: it is used as {kinds}" if kinds else ""


def _unknown(known: Iterable[Row], device: str) -> str:
    names = sorted({str(row["name"]) for row in known if row["kind"] == device})
    have = f"those that are: {', '.join(names)}" if names else "none is"
    return f"that is nearer to some CPUs than to others; {have}"


def core_cpus(host: str, rows: Iterable[Row]) -> dict[Cores, frozenset[int]]:
    """The CPUs of performance and of efficiency cores: rows of ``topology/cpu-kinds``.

    By what the maker calls them where Intel does; else the fastest kind against the
    others. Raises PlaceError where all cores are of one kind.
    """
    known = list(rows)
    if {row["type"] for row in known} >= {_FAST, _SLOW}:
        fast = [row for row in known if row["type"] == _FAST]
    else:
        best = max((row["rank"] or 0 for row in known), default=0)
        fast = [row for row in known if (row["rank"] or 0) == best]
    slow = [row for row in known if row not in fast]
    if not slow:
        raise PlaceError(f"cores: all cores of {host} are of one kind; leave it out")
    return {"p": _all(fast), "e": _all(slow)}


def _all(rows: Iterable[Row]) -> frozenset[int]:
    return frozenset(cpu for row in rows for cpu in _cpus(row["cpus"]))


def _cpus(text: str | None) -> list[int]:
    return [int(cpu) for cpu in (text or "").split(",") if cpu]
