"""The precedence rules of sources.

Each rule lists the sources of a property in order of precedence. In general the kernel
precedes tools that query it, and a source that reads a device directly precedes one
that reads the board's tables.
"""

from collections.abc import Callable
from typing import Any

from rdflib import URIRef

from ingest.conflict_resolution import source_values as values
from ingest.conflict_resolution.claims import Rule
from ontology.terms import ST


def same_text(one: Any, other: Any) -> bool:
    """Equal except for case and white space."""
    return _plain(one) == _plain(other)


def same_name(one: Any, other: Any) -> bool:
    """Equal, or one is a truncated form of the other.

    SCSI has room only for the beginning of a model name and, for an ATA disk, for the
    end of the firmware version.
    """
    shorter, longer = sorted((_plain(one), _plain(other)), key=len)
    return longer.startswith(shorter) or longer.endswith(shorter)


def same_number(one: Any, other: Any) -> bool:
    """Equal as numbers, in decimal or hexadecimal: ``0x1000065`` and ``16777317``."""
    try:
        return int(str(one), 0) == int(str(other), 0)
    except ValueError:
        return same_text(one, other)


def about_equal(one: Any, other: Any) -> bool:
    """At most 1 % apart: the memory size varies while a machine runs."""
    return bool(abs(one - other) * 100 <= max(abs(one), abs(other)))


def _plain(value: Any) -> str:
    return " ".join(str(value).split()).casefold()


_BOARD = {
    "board.vendor": ST.boardVendor,
    "board.model": ST.boardModel,
    "board.serial": ST.boardSerial,
    "system.vendor": ST.systemVendor,
    "system.model": ST.systemModel,
    "system.serial": ST.systemSerial,
    "system.uuid": ST.systemUuid,
    "bios.vendor": ST.biosVendor,
    "bios.version": ST.biosVersion,
    "bios.date": ST.biosDate,
}
_DISK = {"model": ST.model, "serial": ST.serialNumber}
_DISK |= {"firmware": ST.firmwareVersion, "vendor": ST.vendor}
_BANK: dict[str, tuple[URIRef, Callable[[Any, Any], bool]]] = {
    "size": (ST.memorySize, same_text),
    "vendor": (ST.vendor, same_text),
    "model": (ST.model, same_text),
    "serial": (ST.serialNumber, same_text),
    "clock": (ST.clockRate, same_text),
}
_CACHE = {"size": ST.cacheSize, "line": ST.lineSize, "ways": ST.associativity}
_CACHE |= {"sets": ST.cacheSets}
_TOPOLOGY = frozenset({"cpu", "hwloc"})

RULES: tuple[Rule, ...] = (
    *(
        Rule(
            property_,
            (
                ("board", values.host(f"board.{path}")),
                ("lshw", values.host(f"lshw.{path}")),
            ),
            same_text,
        )
        for path, property_ in _BOARD.items()
    ),
    Rule(
        ST.memorySize,
        (("os", values.host("os.memory")), ("hwloc", values.hwloc_memory)),
        about_equal,
    ),
    Rule(
        ST.installedMemory,
        (("memory_banks", values.installed), ("lshw", values.host("lshw.memory"))),
    ),
    Rule(
        ST.cpuModel,
        (
            ("cpu", values.socket_cpu("name")),
            ("hwloc", values.socket_hwloc("CPUModel")),
            ("lshw", values.socket_lshw("model")),
        ),
        same_text,
        _TOPOLOGY,
    ),
    Rule(
        ST.microcode,
        (
            ("cpu", values.socket_cpu("microcode")),
            ("lshw", values.socket_lshw("microcode")),
        ),
        same_number,
        _TOPOLOGY,
    ),
    Rule(
        ST.memorySize,
        (
            ("hwloc", values.numa("hwloc.numa")),
            ("memory", values.numa("memory.numa")),
        ),
        about_equal,
        _TOPOLOGY,
    ),
    *(
        Rule(
            property_,
            (
                ("hwloc", values.cache("hwloc.caches", fact)),
                ("cache_sets", values.cache("cache_sets", fact)),
            ),
            elsewhere=_TOPOLOGY,
        )
        for fact, property_ in _CACHE.items()
    ),
    *(
        Rule(
            property_,
            (
                ("memory_banks", values.bank("memory_banks", fact)),
                ("lshw", values.bank("lshw", fact)),
            ),
            same,
        )
        for fact, (property_, same) in _BANK.items()
    ),
    # The kernel sees 16 characters of a SCSI disk's model and 4 of its firmware.
    *(
        Rule(
            property_,
            (
                ("smart", values.smart(fact)),
                ("disks", values.each("disk", "disks", fact)),
                ("lshw", values.each("disk", "lshw.disks", fact)),
            ),
            same_name,
        )
        for fact, property_ in _DISK.items()
    ),
    Rule(
        ST.diskSize,
        (
            ("disks", values.each("disk", "disks", "size")),
            ("smart", values.smart("size")),
        ),
    ),
    Rule(
        ST.macAddress,
        (
            ("nics", values.each("nic", "nics", "mac")),
            ("lshw", values.each("nic", "lshw.nics", "mac")),
        ),
        same_text,
    ),
    Rule(
        ST.linkSpeed,
        (
            ("nics", values.each("nic", "nics", "speed")),
            ("lshw", values.each("nic", "lshw.nics", "speed")),
        ),
    ),
    *(
        Rule(
            property_,
            (
                ("nics", values.each("nic", "nics", fact)),
                ("lshw", values.each("nic", "lshw.nics", fact)),
            ),
            same_text,
        )
        for fact, property_ in {
            "firmware": ST.firmwareVersion,
            "driver": ST.driver,
            "ipv4": ST.ipv4Address,
            "businfo": ST.businfo,
            "model": ST.model,
            "serial": ST.serialNumber,
            "vendor": ST.vendor,
        }.items()
    ),
)
