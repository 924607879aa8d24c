"""The matrix of NUMA latencies in hwloc's XML; its format depends on the version."""

import math
from typing import Any

from ingest.errors import TopologyError
from ingest.gaps import report_gap
from ingest.hwloc.xml import Topology
from ontology.numbers import read_decimal, read_whole

_MEANS_LATENCY = 4


def find_distances(topology: Topology) -> list[dict[str, int]]:
    """The distance of every pair of NUMA domains (OS index), from the firmware's SLIT.

    Empty if the file has no such matrix; raises TopologyError.
    """
    try:
        domains, values = _matrix(topology)
    except (ValueError, OverflowError):
        raise TopologyError(
            "the NUMA distances of the hwloc XML are not numbers: export it again with "
            "`lstopo --of xml`"
        ) from None
    if len(values) != len(domains) ** 2:
        raise TopologyError(
            f"the hwloc XML has {len(values)} distances for {len(domains)} NUMA "
            "domains: export it again with `lstopo --of xml`"
        )
    pairs = [(a, b) for a in domains for b in domains]
    return [
        {"from": a, "to": b, "value": value}
        for (a, b), value in zip(pairs, values, strict=True)
    ]


def _matrix(topology: Topology) -> tuple[list[int], list[int]]:
    for element in topology.element.findall("distances2"):
        latency = read_whole(element.get("kind", "0")) & _MEANS_LATENCY
        by_os = element.get("indexing") == "os"
        if element.get("type") == "NUMANode" and latency and by_os:
            return _numbers(element, "indexes"), _numbers(element, "u64values")
    for element in topology.element.findall("distances2hetero"):
        if read_whole(element.get("kind", "0")) & _MEANS_LATENCY:
            return _among_memories(topology, element)
    return _old_matrix(topology)


def _words(element: Any, tag: str) -> list[str]:
    # hwloc splits long lists into several elements.
    return [n for part in element.findall(tag) for n in (part.text or "").split()]


def _numbers(element: Any, tag: str) -> list[int]:
    return [read_whole(word) for word in _words(element, tag)]


def _among_memories(topology: Topology, element: Any) -> tuple[list[int], list[int]]:
    """Read the NUMA part of a mixed matrix, written ``NUMANode:5 OSDev:9``."""
    marked = {
        f"NUMANode:{domain.mark}": domain.os_index
        for domain in topology.all_things("NUMANode")
        if domain.mark
    }
    ends = [marked.get(word) for word in _words(element, "indexes")]
    values = _numbers(element, "u64values")
    if len(values) != len(ends) ** 2:
        raise ValueError(values)
    places = [place for place, end in enumerate(ends) if end is not None]
    domains = [end for end in ends if end is not None]
    return domains, [values[a * len(ends) + b] for a in places for b in places]


def _old_matrix(topology: Topology) -> tuple[list[int], list[int]]:
    """hwloc 1: on the root, multiples of a base, domains in file order."""
    domains = [
        domain.os_index
        for domain in topology.all_things("NUMANode")
        if domain.os_index is not None
    ]
    for element in topology.element.findall("object/distances"):
        if element.get("nbobjs") == str(len(domains)):
            base = read_decimal(element.get("latency_base", "1"))
            cells = element.findall("latency")
            return domains, [_rounded(cell, base) for cell in cells]
        size = element.get("nbobjs")
        report_gap("nbobjs of distances", size, "the number of NUMA domains")
    return [], []


def _rounded(cell: Any, base: float) -> int:
    value = read_decimal(cell.get("value", "")) * base
    if not math.isfinite(value):
        raise ValueError(value)
    return round(value)
