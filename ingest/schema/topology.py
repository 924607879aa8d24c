"""The schema of hwloc's part of a probe document, as far as it is read."""

from typing import Annotated

from annotated_types import Len
from pydantic import BaseModel, Field

from ingest.schema.types import (
    AnyText,
    CacheType,
    Hex,
    Index,
    Name,
    OrDefault,
    Text,
    Truth,
    Whole,
)


class Thread(BaseModel):
    """One hardware thread."""

    os_index: Index
    allowed: Truth


class Container(BaseModel):
    """A core, a die or a socket."""

    os_index: Whole | None
    threads: list[Index]
    info: OrDefault[dict[Text, Text]] = {}


class HwlocGroup(BaseModel):
    """A Group of hwloc."""

    level: Index
    threads: list[Index]
    subtype: Text | None = None


class Cache(BaseModel):
    """One cache."""

    level: Whole
    type: CacheType
    size: Whole | None
    line: Whole | None
    ways: Whole | None
    sets: Whole | None
    inclusive: Truth | None
    threads: list[Index]


class Numa(BaseModel):
    """One NUMA domain."""

    os_index: Index
    threads: list[Index]
    memory: Whole | None
    near: OrDefault[list[Index]] = []
    subtype: Text | None = None
    tier: Whole | None = None


class Distance(BaseModel):
    """The distance from one NUMA domain to another."""

    start: Index = Field(alias="from")
    to: Index
    value: Whole


class MemoryCache(BaseModel):
    """A memory-side cache."""

    level: Whole
    size: Whole | None
    line: Whole | None
    ways: Whole | None
    threads: list[Index]
    domains: Annotated[list[Index], Len(1)]


class MemorySpeed(BaseModel):
    """One measured value of a memory, with hwloc's name for it."""

    numa: Index
    measure: Text
    value: Whole
    threads: list[Index]


class CoreKind(BaseModel):
    """A kind of core of a hybrid machine."""

    threads: list[Index]
    efficiency: Whole | None = None
    rank: Index | None = None
    core_type: Text | None = None
    base: Whole | None = None
    max: Whole | None = None


class OsDevice(BaseModel):
    """A device under its operating system's name."""

    name: Name
    kinds: list[Text]
    subtype: Text | None = None
    threads: list[Index]
    info: dict[Text, Text] = {}


class PciDevice(BaseModel):
    """A PCI device or a bridge."""

    busid: Name
    class_id: Hex | None = None
    class_name: Text | None = None
    vendor_id: Text | None = None
    device_id: Text | None = None
    subvendor_id: Text | None = None
    subdevice_id: Text | None = None
    revision: Text | None = None
    vendor: Text | None = None
    model: Text | None = None
    slot: Text | None = None
    link_speed: Whole | None = None
    bridge: Truth
    buses: Text | None = None
    parent: Text | None
    threads: list[Index]
    os_devices: list[OsDevice]


class Hwloc(BaseModel):
    """``hwloc``; ``xml`` is the file itself, for drawing."""

    threads: list[Thread]
    cores: list[Container]
    dies: list[Container]
    sockets: list[Container]
    groups: list[HwlocGroup]
    caches: list[Cache]
    numa: list[Numa]
    distances: list[Distance]
    memory_caches: list[MemoryCache] = []
    memory_speeds: list[MemorySpeed] = []
    kinds: list[CoreKind] = []
    pci: list[PciDevice] = []
    os_devices: list[OsDevice] = []
    info: dict[Text, Text] = {}
    xml: AnyText = None


NO_TOPOLOGY = Hwloc(
    threads=[],
    cores=[],
    dies=[],
    sockets=[],
    groups=[],
    caches=[],
    numa=[],
    distances=[],
)
