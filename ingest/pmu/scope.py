"""The scope that a PMU counts for, and its name in the kernel."""

import re
from typing import TYPE_CHECKING

from rdflib import URIRef

from ingest.describe import component_ids as ids
from ontology.iris import Iris

if TYPE_CHECKING:
    from ingest.schema.topology import Hwloc

# Uncore boxes by the word in their name; all others count for a socket.
_BOXES = {
    "cbo": "slice",
    "cha": "slice",
    "imc": "memory",
    "edc": "memory",
    "qpi": "link",
    "r3qpi": "link",
    "upi": "link",
    "m3upi": "link",
    "iio": "pcie",
    "irp": "pcie",
    "r2pcie": "pcie",
    "m2pcie": "pcie",
}
_BY_TYPE = {"core": "thread", "uncore": "socket", "os": "host"}
_BOX = re.compile(r"_unc_([a-z0-9]*?[a-z])(?:_([a-z]+))?(\d*)$")

# libpfm4's cbo0 is the kernel's cbox_0.
_KERNEL = {"cbo": "cbox", "sbo": "sbox", "ubo": "ubox", "imc_uclk": "mc_uclk"}
_NAMED = {
    "rapl": "power",
    "amd64_rapl": "power",
    "amd64_fam15h_nb": "amd_nb",
    "perf": "software",
    "perf_raw": "cpu",
    "nhm_unc": "uncore",
    "wsm_unc": "uncore",
}
# cpu_core and cpu_atom on hybrid machines, armv8_pmuv3_0 and the like on ARM.
_CORE = ("cpu", "armv")


def scope_of(pmu: str, type_: str | None) -> str | None:
    """The scope of a PMU's counters: ``thread``, ``cache``, ``memory`` …

    A box counts for its part of a socket: a channel, a slice of the L3 cache, a link.
    """
    if pmu.endswith("_l3"):
        return "cache"
    if found := _BOX.search(pmu):
        return _BOXES.get(found[1], "socket")
    return _BY_TYPE.get(type_ or "")


def counted(
    iris: Iris, host: str, scope: str | None, topology: "Hwloc"
) -> list[URIRef]:
    """The components of a host that a PMU counts for; the host if none is known.

    A box is not a component, so its counts belong to the socket. The sum over the boxes
    of one kind is the socket's value.
    """
    found: list[URIRef] = []
    if scope == "thread":
        found = [
            iris.component(host, "thread", str(thread.os_index))
            for thread in topology.threads
        ]
    elif scope == "cache":
        found = [
            iris.component(host, "cache", ids.container("l3", cache.threads))
            for cache in topology.caches
            if cache.level == 3 and cache.threads
        ]
    elif scope not in (None, "host"):
        found = [
            iris.component(host, "socket", ids.container("socket", socket.threads))
            for socket in topology.sockets
            if socket.threads
        ]
    return found or [iris.host(host)]


def is_usable(
    pmu: str, type_: str | None, event_sources: list[str] | None
) -> bool | None:
    """Whether the kernel can count with a PMU; None if unknown.

    libpfm4 only looks at the processor's model, which says nothing about counters in a
    virtual machine.
    """
    if event_sources is None or type_ not in _BY_TYPE:
        return None
    if type_ == "core":
        return any(name.startswith(_CORE) for name in event_sources)
    return kernel_name(pmu) in event_sources


def kernel_name(pmu: str) -> str:
    """The kernel's event source for a PMU: ``uncore_imc_0``."""
    if pmu.endswith("_l3"):
        return "amd_l3"
    if pmu in _NAMED:
        return _NAMED[pmu]
    found = re.search(r"_unc_(\w*?)(\d*)$", pmu)
    if not found:
        return pmu
    box = _KERNEL.get(found[1], found[1])
    return f"uncore_{box}" + (f"_{found[2]}" if found[2] else "")
