"""hwloc's XML of any version as a flat list of objects with their CPUs."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import ParseError, fromstring

from ingest.errors import TopologyError
from ingest.gaps import report_gap
from ontology.numbers import read_hexadecimal, read_whole

MAX_XML = 64 * 1024 * 1024
# The largest Linux kernels support 8192 CPUs; a wider set is damaged or hostile.
MAX_CPUS = 1 << 16

_FIX = "export it again with `lstopo --of xml`"
_OLD_NAMES = {
    "Socket": "Package",
    "Node": "NUMANode",
    "System": "Machine",
    "Tile": "Group",
    "Module": "Group",
}
_CACHE = re.compile(r"(L[1-5][id]?)?Cache")
# hwloc writes an unknown number as -1, or as the unsigned integer of the same bits.
_UNKNOWN = {2**32 - 1, 2**64 - 1}


@dataclass(frozen=True)
class HwlocObject:
    """One object: its kind by hwloc 2's name, its level among Groups, its CPUs.

    ``place`` is its number in file order, ``parent`` the place of the object that
    contains it (None for the machine), ``mark`` the id by which other parts of the file
    refer to it.
    """

    kind: str
    level: int
    attributes: dict[str, str]
    info: dict[str, str]
    threads: list[int]
    os_index: int | None
    subtype: str | None
    place: int
    parent: int | None
    mark: str


@dataclass(frozen=True)
class Topology:
    """A whole file: ``root`` is the Machine, ``element`` the topology's XML."""

    version: str
    element: Any
    root: HwlocObject
    objects: list[HwlocObject]
    complete: frozenset[int]
    allowed: frozenset[int]

    @property
    def major(self) -> int:
        """1, 2 or 3."""
        return int(self.version.partition(".")[0])

    @property
    def info(self) -> dict[str, str]:
        """hwloc's facts of the machine as a whole, from wherever the file has them."""
        return {**infos(self.element), **self.root.info}

    def above(self, thing: HwlocObject) -> Iterator[HwlocObject]:
        """The objects that contain an object, the nearest first."""
        while thing.parent is not None:
            thing = self.objects[thing.parent]
            yield thing

    def near(self, thing: HwlocObject) -> list[int]:
        """The CPUs nearest to an object that may have none itself, such as a device."""
        things = (thing, *self.above(thing))
        return next((found.threads for found in things if found.threads), [])

    def all_things(self, kind: str) -> list[HwlocObject]:
        """Every object of a kind, in the order of the file."""
        return [thing for thing in self.objects if thing.kind == kind]

    def things(self, kind: str) -> list[HwlocObject]:
        """Every object of a kind that holds a CPU, online or not."""
        return [thing for thing in self.all_things(kind) if thing.threads]


def parse_topology(xml: bytes) -> Topology:
    """Parse an hwloc file; raises TopologyError."""
    element = parse_xml(xml)
    version = element.get("version", "1.0")
    if element.tag != "topology" or version.partition(".")[0] not in ("1", "2", "3"):
        raise TopologyError(
            f"<{element.tag[:40]}> of version {version[:20]!r} is not a topology of "
            f"hwloc 1, 2 or 3: {_FIX}"
        )
    machine = element.find("object")
    if machine is None:
        raise TopologyError(f"the hwloc XML contains no machine: {_FIX}")
    objects = list(_things(machine))
    return Topology(
        version=version,
        element=element,
        root=objects[0],
        objects=objects,
        complete=frozenset(cpus(machine, "complete_cpuset", "cpuset")),
        allowed=_allowed(machine),
    )


def whole(thing: HwlocObject, name: str) -> int | None:
    """A number such as a size in bytes; None if hwloc does not know it."""
    return _number(thing.attributes, name) or None


def parse_xml(xml: bytes) -> Any:
    """The root element of a file of at most MAX_XML bytes; raises TopologyError."""
    if len(xml) > MAX_XML:
        raise TopologyError(f"the hwloc XML is larger than {MAX_XML >> 20} MiB: {_FIX}")
    try:
        return fromstring(
            xml, forbid_dtd=False, forbid_entities=True, forbid_external=True
        )
    except DefusedXmlException as error:
        raise TopologyError(
            f"the hwloc XML declares an entity ({type(error).__name__}), which hwloc "
            f"never does: {_FIX}"
        ) from None
    except (ParseError, ValueError, LookupError) as error:
        raise TopologyError(
            f"the hwloc XML is damaged or truncated ({error}): {_FIX}"
        ) from None


def infos(element: Any) -> dict[str, str]:
    """The named texts of one element; the last one of a repeated name."""
    return {
        info.get("name", ""): info.get("value", "") for info in element.findall("info")
    }


def _things(machine: Any) -> Iterator[HwlocObject]:
    # Not recursive: a file may nest deeper than Python's stack.
    stack: list[tuple[Any, int, int | None]] = [(machine, 0, None)]
    place = 0
    while stack:
        element, level, parent = stack.pop()
        thing = _thing(element, level, place, parent)
        yield thing
        below = level + (thing.kind == "Group")
        children = reversed(element.findall("object"))
        stack.extend((child, below, place) for child in children)
        place += 1


def _thing(element: Any, level: int, place: int, parent: int | None) -> HwlocObject:
    known = infos(element)
    # hwloc 1 had no subtypes and wrote them as infos.
    subtype = element.get("subtype") or known.get("Type") or known.get("CoProcType")
    # Only infos distinguish the dies of hwloc 1 from its other Groups.
    is_die = subtype == "Die" and element.get("type") == "Group"
    return HwlocObject(
        kind="Die" if is_die else _kind(element.get("type", "")),
        level=level,
        attributes=dict(element.attrib),
        info=known,
        threads=cpus(element, "complete_cpuset", "cpuset"),
        os_index=_number(element.attrib, "os_index"),
        subtype=subtype or None,
        place=place,
        parent=parent,
        mark=(element.get("gp_index") or element.get("id", "")).removeprefix("obj"),
    )


def _kind(name: str) -> str:
    return "Cache" if _CACHE.fullmatch(name) else _OLD_NAMES.get(name, name)


def _allowed(machine: Any) -> frozenset[int]:
    present = frozenset(cpus(machine, "cpuset"))
    # hwloc 1 writes the online CPUs separately.
    for name in ("allowed_cpuset", "online_cpuset"):
        if name in machine.attrib:
            present &= frozenset(cpus(machine, name))
    return present


def cpus(element: Any, *names: str) -> list[int]:
    """The CPUs of the first attribute that exists; raises TopologyError."""
    for name in names:
        if name in element.attrib:
            return _parse_cpuset(element.attrib[name])
    return []


def _parse_cpuset(text: str) -> list[int]:
    """Parse hwloc's ``0x000000ff,,0x0``: 32-bit words, highest first, empty means 0."""
    words = text.split(",")
    if len(words) * 32 > MAX_CPUS or "..." in text or max(map(len, words)) > 10:
        raise TopologyError(
            f"a cpuset of the hwloc XML ({text[:40]!r}) is unbounded or wider than "
            f"{MAX_CPUS} CPUs: {_FIX}"
        )
    try:
        bits = "".join(f"{read_hexadecimal(word or '0'):032b}" for word in words)
    except ValueError:
        raise TopologyError(
            f"a cpuset of the hwloc XML ({text[:40]!r}) is not hexadecimal: {_FIX}"
        ) from None
    return [cpu for cpu, bit in enumerate(reversed(bits)) if bit == "1"]


def _number(attributes: dict[str, str], name: str) -> int | None:
    text = attributes.get(name)
    if text is None:
        return None
    try:
        number = read_whole(text)
    except ValueError:
        raise TopologyError(
            f"{name} of the hwloc XML is {text[:40]!r}, not a number: {_FIX}"
        ) from None
    if number < -1:
        place = " ".join((attributes.get("type", ""), attributes.get("os_index", "")))
        report_gap(f"{name} of {place.strip()}", text, "a number from 0")
    return None if number < 0 or number in _UNKNOWN else number
