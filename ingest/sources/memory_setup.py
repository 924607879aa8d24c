"""Memory settings: NUMA domains, huge pages and swap, from /sys and /proc."""

import re
from pathlib import Path
from typing import Any

from ingest.errors import MalformedSourceError
from ingest.sources.files import (
    parse_choice,
    parse_cpulist,
    read_number,
    read_text,
    read_value,
)
from ingest.sources.machine import HERE, Machine

_NODES = Path("sys/devices/system/node")
_POOLS = Path("sys/kernel/mm/hugepages")
_TRANSPARENT = Path("sys/kernel/mm/transparent_hugepage/enabled")
_POOL = re.compile(r"hugepages-([0-9]{1,12})kB")
_NODE = re.compile(r"node([0-9]{1,9})")
_TOTAL = re.compile(r"^(?:Node [0-9]+ )?MemTotal:\s+([0-9]{1,18}) kB$", re.MULTILINE)
_DEFAULT = re.compile(r"^Hugepagesize:\s+([0-9]{1,18}) kB$", re.MULTILINE)
# A space in a name is written \040.
_OCTAL = re.compile(r"\\([0-7]{3})")
_KIB = 1024


def read_memory_setup(machine: Machine = HERE) -> dict[str, Any]:
    """Read NUMA domains, huge pages and swap; sizes in bytes.

    Raises ProbeSourceError.
    """
    root = machine.root
    meminfo = read_text(root / "proc/meminfo")
    default = _DEFAULT.search(meminfo)
    return {
        "numa": _domains(root / _NODES),
        "huge_pages": _pools(root / _POOLS),
        "default_huge_page": int(default[1]) * _KIB if default else None,
        "transparent_huge_pages": parse_choice(read_value(root / _TRANSPARENT)),
        "swap": parse_swaps(read_value(root / "proc/swaps") or ""),
    }


def parse_node_memory(text: str) -> int | None:
    """The memory of a NUMA domain in bytes, from its ``meminfo``."""
    total = _TOTAL.search(text)
    return int(total[1]) * _KIB if total else None


def parse_swaps(text: str) -> list[dict[str, Any]]:
    """The swap areas of /proc/swaps; raises MalformedSourceError."""
    areas = []
    for line in text.splitlines()[1:]:
        try:
            name, kind, size, _used, priority = line.split()
            areas.append(
                {
                    "name": _OCTAL.sub(lambda found: chr(int(found[1], 8)), name),
                    "type": kind,
                    "size": int(size) * _KIB,
                    "priority": int(priority),
                }
            )
        except ValueError:
            raise MalformedSourceError(
                f"/proc/swaps has an invalid line, {line[:60]!r}: check that proc is "
                "mounted at /proc"
            ) from None
    return areas


def _domains(folder: Path) -> list[dict[str, Any]]:
    found = [
        (int(match[1]), path)
        for path in folder.glob("node[0-9]*")
        if (match := _NODE.fullmatch(path.name))
    ]
    return [_domain(index, path) for index, path in sorted(found)]


def _domain(index: int, path: Path) -> dict[str, Any]:
    return {
        "os_index": index,
        "memory": parse_node_memory(read_value(path / "meminfo") or ""),
        "threads": parse_cpulist(read_value(path / "cpulist") or ""),
        "huge_pages": _pools(path / "hugepages"),
    }


def _pools(folder: Path) -> list[dict[str, int]]:
    """The sizes of huge pages, and the number reserved of each."""
    found = [
        (int(match[1]) * _KIB, read_number(path / "nr_hugepages"))
        for path in folder.glob("hugepages-*")
        if (match := _POOL.fullmatch(path.name))
    ]
    return [{"size": size, "count": count or 0} for size, count in sorted(found)]
