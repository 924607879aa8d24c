"""What main memory could deliver: channels x transfers per second x width.

The modules are those that the firmware's tables name (SMBIOS, type 17). Several modules
of one channel share it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from benchmarks.machine import Machine
from core.stores.endpoint import Endpoint
from queries.catalogue import saved_query

_DATA = Path(__file__).parent / "channels.yaml"
_BITS = 8
# Up to the name of the channel, as in `P0 CHANNEL A`, `Controller0-ChannelA-DIMM0`,
# `P0_Node0_Channel0_Dimm0`, `CPU0_DIMM_A1` and `P1-DIMMA1`.
_CHANNELS = (
    re.compile(r"(.*channel[ _-]*(?:\d+|[a-z]))", re.IGNORECASE),
    re.compile(r"(.*dimm[ _-]*[a-z])\d", re.IGNORECASE),
)

Row = Mapping[str, Any]


@dataclass(frozen=True)
class MemoryLimit:
    """The bytes per second that the memory of some CPUs could deliver.

    With ``is_whole``, the CPUs have all cores that this memory belongs to, so that they
    could reach it.
    """

    rate: float
    is_whole: bool


def memory_limit(
    twin: Endpoint, machine: Machine, cpus: Iterable[int]
) -> MemoryLimit | None:
    """Return the limit of the domains of some CPUs; None if too little is known.

    Each domain is taken to have the same share of the host's channels.
    """
    query = saved_query("benchmarks/memory").bind({"host": machine.host})
    processor = saved_query("benchmarks/processor").bind({"host": machine.host})
    rate = bandwidth(twin.table(query).records(), twin.table(processor).records())
    chosen = {*cpus}
    used = [domain for domain in machine.domains if domain.cpus & chosen]
    all_used = [domain for domain in machine.domains if domain.cpus]
    if rate is None or not used:
        return None
    cores = machine.cores_of(cpu for domain in used for cpu in domain.cpus)
    share = len(used) / len(all_used)
    return MemoryLimit(rate * share, machine.cores_of(chosen) == cores)


def bandwidth(modules: Sequence[Row], sockets: Sequence[Row]) -> float | None:
    """Return the bytes per second of all channels of a host.

    The rows are those of `benchmarks/memory` and `benchmarks/processor`. None if there
    is no module, or if one has no transfer rate or width.
    """
    if not modules or any(not row["rate"] or not row["width"] for row in modules):
        return None
    # Modules of different speeds all run as the slowest.
    rate = min(float(row["rate"]) for row in modules)
    width = min(float(row["width"]) for row in modules)
    return _count(modules, sockets) * rate * width / _BITS


def _count(modules: Sequence[Row], sockets: Sequence[Row]) -> int:
    """Return the number of channels with a module: as named, and as there can be."""
    named = [_channel(row) for row in modules]
    known = len({*named}) if all(named) else len(modules)
    most = [_channels_of(row) for row in sockets]
    return min(known, sum(most)) if most and all(most) else known


def _channel(module: Row) -> str:
    for text in (str(module["bankLocator"] or ""), str(module["slot"] or "")):
        for pattern in _CHANNELS:
            if found := pattern.match(text):
                return found[1].upper()
    return ""


@cache
def _table() -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = yaml.safe_load(_DATA.read_text("utf-8"))
    return loaded


def _channels_of(socket: Row) -> int:
    """Return the channels of a processor; 0 if the table does not have it."""
    for entry in _table():
        if (
            (entry["vendor"], entry["family"])
            == (str(socket["vendor"]), str(socket["family"]))
            and int(socket["model"] or -1) in entry["models"]
            and re.search(entry["name"], str(socket["name"]))
        ):
            return int(entry["channels"])
    return 0
