"""The kinds of cores of a hybrid machine, from hwloc's XML (2.4 and later)."""

from operator import attrgetter
from typing import Any, NamedTuple

from ingest.gaps import report_gap
from ingest.hwloc.xml import Topology, cpus, infos
from ontology.numbers import read_whole

_MEGA = 1_000_000
# Intel's names of its two kinds, the slower one first.
_INTEL = ("IntelAtom", "IntelCore")


def find_kinds(topology: Topology) -> list[dict[str, Any]]:
    """Find every kind with its CPUs; clocks in Hz.

    ``rank`` counts from the slowest; it is None if no property distinguishes all kinds.
    The efficiency of a kind is what hwloc took from the system: Linux' CPU capacity, or
    hwloc's own ranking. Raises TopologyError.
    """
    kinds = [_kind(element) for element in topology.element.findall("cpukind")]
    found = [kind for kind in kinds if kind.threads]
    ranks = _ranks(found)
    return [
        {**kind._asdict(), "rank": rank}
        for kind, rank in zip(found, ranks, strict=True)
    ]


class _Kind(NamedTuple):
    efficiency: int | None
    threads: list[int]
    core_type: str | None
    max: int | None
    base: int | None
    info: dict[str, str]


def _kind(element: Any) -> _Kind:
    info = infos(element)
    return _Kind(
        efficiency=_number("forced_efficiency", element.get("forced_efficiency")),
        threads=cpus(element, "cpuset"),
        core_type=info.get("CoreType"),
        max=_hertz("FrequencyMaxMHz", info),
        base=_hertz("FrequencyBaseMHz", info),
        info=info,
    )


def _ranks(kinds: list[_Kind]) -> list[int | None]:
    for compared in (attrgetter("efficiency"), _intel, attrgetter("max")):
        keys = [compared(kind) for kind in kinds]
        known = [key for key in keys if key is not None]
        if len(set(known)) == len(kinds):
            order = sorted(known)
            return [order.index(key) for key in known]
    return [None] * len(kinds)


def _intel(kind: _Kind) -> int | None:
    return _INTEL.index(kind.core_type) if kind.core_type in _INTEL else None


def _number(name: str, text: str | None) -> int | None:
    try:
        number = -1 if text is None else read_whole(text)
    except ValueError:
        number = -2
    if number < -1:  # hwloc writes an unknown one as -1
        report_gap(f"{name} of a kind of cores", text, "a number from 0")
    return number if number >= 0 else None


def _hertz(name: str, info: dict[str, str]) -> int | None:
    megahertz = _number(name, info.get(name))
    return megahertz * _MEGA if megahertz else None
