"""Describe a host's setup: CPU states, TLBs, cgroups, huge pages, swap, agents."""

from typing import Any

from rdflib import URIRef

from ingest.describe import component_ids as ids
from ingest.schema.schema import Facts, Perf
from ingest.schema.setup import Pool, Tlb
from ingest.triples import Triples
from ontology.iris import Iris
from ontology.terms import ST

_LETTERS = {4096: "4K", 2 << 20: "2M", 4 << 20: "4M", 1 << 30: "1G"}


def describe_setup(triples: Triples, iris: Iris, host: str, facts: Facts) -> None:
    """Describe the settings of the kernel, the processor and PCP."""
    _host(triples, iris.host(host), facts)
    _threads(triples, iris, host, facts)
    _tlbs(triples, iris, host, facts)
    _hierarchies(triples, iris, host, facts)
    _memory(triples, iris, host, facts)
    _agents(triples, iris, host, facts)


def _host(triples: Triples, node: URIRef, facts: Facts) -> None:
    smt, scaling = facts.cpu_state.smt, facts.cpu_state.scaling
    memory = facts.memory
    triples.link(
        node,
        {
            ST.smtActive: smt.active,
            ST.smtControl: smt.control,
            ST.frequencyDriver: scaling.driver,
            ST.scalingStatus: scaling.status,
            ST.energyPreference: scaling.preference,
            ST.boostEnabled: scaling.boost,
            ST.kernelOption: facts.kernel_options,
            ST.cgroupLayout: facts.cgroups.layout,
            ST.defaultHugePageSize: memory.default_huge_page,
            ST.transparentHugePages: memory.transparent_huge_pages,
            **_perf(facts.perf),
        },
    )


def _perf(perf: Perf) -> dict[URIRef, Any]:
    """The kernel's named events; a device without any is listed as ``device::``."""
    return {
        ST.kernelEvent: [
            f"{device}::{event}"
            for device, events in perf.events.items()
            for event in events or [""]
        ],
        ST.perfEventParanoid: perf.paranoid,
        ST.nmiWatchdog: perf.watchdog,
    }


def _threads(triples: Triples, iris: Iris, host: str, facts: Facts) -> None:
    """Describe which threads are online, and the threads that hwloc does not show."""
    lists, threads = facts.cpu_state.lists, facts.hwloc.threads
    shown = {thread.os_index for thread in threads}
    online, offline = set(lists.get("online", [])), set(lists.get("offline", []))
    # A thread that went offline between two sources was online for hwloc.
    offline -= {thread.os_index for thread in threads if thread.allowed}
    offline &= shown | set(lists.get("present", []))
    for index in sorted(offline - shown):
        triples.node(
            iris.component(host, "thread", str(index)),
            ST.HardwareThread,
            {ST.osIndex: index, ST.allowed: False, ST.isPartOf: iris.host(host)},
            label=f"thread {index}",
        )
    isolated = set(lists.get("isolated", []))
    for index in sorted(shown & online | offline):
        triples.link(
            iris.component(host, "thread", str(index)),
            {ST.online: index in online, ST.isolated: index in isolated or None},
        )
    for model in facts.cpu.sockets.values():
        for name, revision in model.other_microcode.items():
            if name.isdigit() and int(name) in shown:
                thread = iris.component(host, "thread", name)
                triples.link(thread, {ST.threadMicrocode: revision})


def _tlbs(triples: Triples, iris: Iris, host: str, facts: Facts) -> None:
    """Describe one node per TLB kind and socket, not one per core."""
    parts = {
        ids.container("socket", socket.threads): "socket"
        for socket in facts.hwloc.sockets
        if socket.threads
    }
    for part, kind in (parts or {"host": ""}).items():
        holder = iris.component(host, kind, part) if kind else iris.host(host)
        for tlb in facts.tlbs.tlbs:
            _tlb(triples, iris.component(host, "tlb", _tlb_id(part, tlb)), tlb, holder)
            core = {ST.coreDesign: facts.tlbs.core_type}
            triples.link(iris.component(host, "tlb", _tlb_id(part, tlb)), core)


def _tlb_id(part: str, tlb: Tlb) -> str:
    pages = "-".join(_LETTERS.get(size, str(size)) for size in tlb.page_sizes)
    return f"{part}.l{tlb.level}.{tlb.type or 'all'}.{pages}"


def _tlb(triples: Triples, iri: URIRef, tlb: Tlb, holder: URIRef) -> None:
    pages = "/".join(_LETTERS.get(size, str(size)) for size in tlb.page_sizes)
    triples.node(
        iri,
        ST.Tlb,
        {
            ST.tlbLevel: tlb.level,
            ST.tlbType: tlb.type,
            ST.pageSize: tlb.page_sizes,
            ST.tlbEntries: tlb.entries,
            ST.tlbWays: tlb.ways,
            ST.fullyAssociative: tlb.fully or None,
            ST.isPartOf: holder,
        },
        label=f"L{tlb.level} {tlb.type or 'whole'} TLB, {pages} pages",
    )


def _hierarchies(triples: Triples, iris: Iris, host: str, facts: Facts) -> None:
    for entry in facts.cgroups.hierarchies:
        triples.node(
            iris.component(host, "cgroup", entry.path),
            ST.CgroupHierarchy,
            {
                ST.ofHost: iris.host(host),
                ST.mountPoint: entry.path,
                ST.cgroupVersion: entry.version,
                ST.hierarchyName: entry.name,
                ST.controller: entry.controllers,
                ST.enabledController: entry.enabled,
                ST.delegatedGroup: entry.delegated,
            },
            label=f"cgroups at {entry.path}",
        )


def _memory(triples: Triples, iris: Iris, host: str, facts: Facts) -> None:
    memory, known = facts.memory, {d.os_index for d in facts.hwloc.numa}
    for pool in memory.huge_pages:
        _pool(triples, iris, host, pool, None)
    for domain in memory.numa:
        # With one domain, its pools are those of the host.
        several = len(memory.numa) > 1 and domain.os_index in known
        for pool in domain.huge_pages if several else []:
            if pool.count:
                _pool(triples, iris, host, pool, domain.os_index)
    for area in memory.swap:
        triples.node(
            iris.component(host, "swap", area.name),
            ST.SwapArea,
            {
                ST.ofHost: iris.host(host),
                ST.swapName: area.name,
                ST.swapType: area.type,
                ST.swapSize: area.size,
                ST.swapPriority: area.priority,
            },
            label=f"swap on {area.name}",
        )


def _pool(
    triples: Triples, iris: Iris, host: str, pool: Pool, numa: int | None
) -> None:
    size = _LETTERS.get(pool.size, str(pool.size))
    name = size if numa is None else f"{size}.numa-{numa}"
    domain = None if numa is None else iris.component(host, "numa", str(numa))
    triples.node(
        iris.component(host, "hugepages", name),
        ST.HugePagePool,
        {
            ST.ofHost: iris.host(host),
            ST.pageSize: pool.size,
            ST.pageCount: pool.count,
            ST.ofNumaDomain: domain,
        },
        label=f"huge pages of {size}",
    )


def _agents(triples: Triples, iris: Iris, host: str, facts: Facts) -> None:
    """Describe PCP's agents; st:pmdaName links the shared metrics to them."""
    for number, name in facts.pcp.pmdas.items() if facts.pcp else ():
        triples.node(
            iris.component(host, "pmda", name),
            ST.Pmda,
            {
                ST.pmdaName: name,
                ST.metricDomain: int(number) if number.isdigit() else None,
                ST.isPartOf: iris.host(host),
            },
            label=f"PMDA {name}",
        )
