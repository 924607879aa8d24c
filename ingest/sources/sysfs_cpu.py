"""Clocks, caches and NUMA distances from the kernel's /sys."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ingest.errors import MalformedSourceError, SourceMissingError
from ingest.gaps import report_gap
from ingest.sources.files import parse_cpulist, read_number, read_value
from ingest.sources.machine import HERE, Machine
from ontology.numbers import read_whole

_CPUS = Path("sys/devices/system/cpu")
_NODES = Path("sys/devices/system/node")
_INDEX = re.compile("[0-9]{1,9}")
_SIZE = re.compile("([0-9]{1,12})([KMG]?)")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_KILOHERTZ = 1000
_MEGAHERTZ = 1_000_000


def read_clocks(machine: Machine = HERE) -> dict[str, Any]:
    """By thread: base, min, max clock in Hz and the governor; None if unknown.

    Raises SourceMissingError if the kernel does not set clocks, as in most guests.
    """
    found = {
        str(index): clock
        for index, folder in _numbered(machine.root / _CPUS, "cpu")
        if (clock := _clock(folder))
    }
    if not found:
        raise SourceMissingError(
            f"{machine.root / _CPUS}/cpu*/cpufreq does not exist: this kernel does not "
            "set clocks, as in most virtual machines; nothing to fix there"
        )
    return found


def read_cache_sets(machine: Machine = HERE) -> list[dict[str, Any]]:
    """Read every cache once, with its CPUs and sets; ``line`` in bytes.

    Raises SourceMissingError and MalformedSourceError.
    """
    cpus = machine.root / _CPUS
    folders = [
        folder
        for _, cpu in _numbered(cpus, "cpu")
        for _, folder in _numbered(cpu / "cache", "index")
    ]
    caches = {_cache_key(cache): cache for cache in map(_cache, folders) if cache}
    if not caches:
        raise SourceMissingError(
            f"{cpus}/cpu*/cache does not exist: this kernel does not show caches, as "
            "in some virtual machines; nothing to fix there"
        )
    return list(caches.values())


def read_numa_distances(machine: Machine = HERE) -> list[dict[str, int]]:
    """Read every pair of domains; raises SourceMissingError, MalformedSourceError."""
    nodes = machine.root / _NODES
    rows = {
        index: text
        for index, folder in _numbered(nodes, "node")
        if (text := read_value(folder / "distance"))
    }
    if not rows:
        raise SourceMissingError(
            f"{nodes}/node*/distance does not exist: this kernel was built without "
            "CONFIG_NUMA, which only machines with several memories need"
        )
    return parse_numa_distances(rows)


def parse_numa_distances(rows: dict[int, str]) -> list[dict[str, int]]:
    """Build pairs from the ``distance`` line of each NUMA domain, by OS index.

    A line lists the distances to the online domains, in ascending order. Raises
    MalformedSourceError.
    """
    domains = sorted(rows)
    pairs = []
    for domain in domains:
        try:
            values = [read_whole(word) for word in rows[domain].split()]
            pairs += [
                {"from": domain, "to": other, "value": value}
                for other, value in zip(domains, values, strict=True)
            ]
        except ValueError:
            raise MalformedSourceError(
                f"the distances of NUMA domain {domain} ({rows[domain][:60]!r}) are "
                f"not {len(domains)} numbers: check /sys/devices/system/node"
            ) from None
    return pairs


def _numbered(folder: Path, prefix: str) -> Iterator[tuple[int, Path]]:
    names = (path.name.removeprefix(prefix) for path in folder.glob(f"{prefix}[0-9]*"))
    for index in sorted(int(name) for name in names if _INDEX.fullmatch(name)):
        yield index, folder / f"{prefix}{index}"


def _clock(cpu: Path) -> dict[str, Any] | None:
    folder = cpu / "cpufreq"
    low = read_number(folder / "cpuinfo_min_freq")
    high = read_number(folder / "cpuinfo_max_freq")
    base = read_number(folder / "base_frequency")
    # If the driver gives no base clock, ACPI may.
    nominal = read_number(cpu / "acpi_cppc/nominal_freq")
    clock = {
        "base": base * _KILOHERTZ if base else (nominal or 0) * _MEGAHERTZ or None,
        "min": low * _KILOHERTZ if low else None,
        "max": high * _KILOHERTZ if high else None,
        "governor": read_value(folder / "scaling_governor"),
    }
    return clock if any(clock.values()) else None


def _cache(folder: Path) -> dict[str, Any] | None:
    level = read_number(folder / "level")
    shared = read_value(folder / "shared_cpu_list")
    if level is None or shared is None:
        return None
    return {
        "level": level,
        "type": (read_value(folder / "type") or "unified").lower(),
        "threads": parse_cpulist(shared),
        "size": parse_size(read_value(folder / "size")),
        "sets": read_number(folder / "number_of_sets") or None,
        "line": read_number(folder / "coherency_line_size") or None,
        "ways": read_number(folder / "ways_of_associativity") or None,
    }


def parse_size(text: str | None) -> int | None:
    """``32K`` in bytes; None if unknown."""
    found = _SIZE.fullmatch(text or "")
    if text and not found:
        report_gap("size of a cache in /sys", text, "a size such as 32K")
    return int(found[1]) * _UNITS[found[2]] or None if found else None


def _cache_key(cache: dict[str, Any]) -> tuple[Any, ...]:
    return cache["level"], cache["type"], tuple(cache["threads"])
