"""Describe a host's setup: CPU states, TLBs, cgroups, huge pages, swap, agents."""

from typing import Any

from rdflib import URIRef

from ingest.describe import component_ids as ids
from ingest.triples import Triples
from ontology.iris import Iris
from ontology.terms import ST

Facts = dict[str, Any]
_LETTERS = {4096: "4K", 2 << 20: "2M", 4 << 20: "4M", 1 << 30: "1G"}


def describe_setup(triples: Triples, iris: Iris, host: str, facts: Facts) -> None:
    """Describe the settings of the kernel, the processor and PCP."""
    _host(triples, iris.host(host), facts)
    _threads(triples, iris, host, facts)
    _tlbs(triples, iris, host, facts)
    _hierarchies(triples, iris, host, facts)
    _memory(triples, iris, host, facts.get("memory") or {}, facts)
    _agents(triples, iris, host, facts)


def _host(triples: Triples, node: URIRef, facts: Facts) -> None:
    state = facts.get("cpu_state") or {}
    smt, scaling = state.get("smt") or {}, state.get("scaling") or {}
    memory = facts.get("memory") or {}
    triples.link(
        node,
        {
            ST.smtActive: smt.get("active"),
            ST.smtControl: smt.get("control"),
            ST.frequencyDriver: scaling.get("driver"),
            ST.scalingStatus: scaling.get("status"),
            ST.energyPreference: scaling.get("preference"),
            ST.boostEnabled: scaling.get("boost"),
            ST.kernelOption: facts.get("kernel_options") or [],
            ST.cgroupLayout: (facts.get("cgroups") or {}).get("layout"),
            ST.defaultHugePageSize: memory.get("default_huge_page"),
            ST.transparentHugePages: memory.get("transparent_huge_pages"),
            **_perf(facts.get("perf") or {}),
        },
    )


def _perf(perf: Facts) -> dict[URIRef, Any]:
    """The kernel's named events; a device without any is listed as ``device::``."""
    return {
        ST.kernelEvent: [
            f"{device}::{event}"
            for device, events in (perf.get("events") or {}).items()
            for event in events or [""]
        ],
        ST.perfEventParanoid: perf.get("paranoid"),
        ST.nmiWatchdog: perf.get("watchdog"),
    }


def _threads(triples: Triples, iris: Iris, host: str, facts: Facts) -> None:
    """Describe which threads are online, and the threads that hwloc does not show."""
    lists = (facts.get("cpu_state") or {}).get("lists") or {}
    threads = (facts.get("hwloc") or {}).get("threads") or []
    shown = {thread["os_index"] for thread in threads}
    online, offline = set(lists.get("online") or []), set(lists.get("offline") or [])
    # A thread that went offline between two sources was online for hwloc.
    offline -= {thread["os_index"] for thread in threads if thread["allowed"]}
    offline &= shown | set(lists.get("present") or [])
    for index in sorted(offline - shown):
        triples.node(
            iris.component(host, "thread", str(index)),
            ST.HardwareThread,
            {ST.osIndex: index, ST.allowed: False, ST.isPartOf: iris.host(host)},
            label=f"thread {index}",
        )
    isolated = set(lists.get("isolated") or [])
    for index in sorted(shown & online | offline):
        triples.link(
            iris.component(host, "thread", str(index)),
            {ST.online: index in online, ST.isolated: index in isolated or None},
        )
    for model in ((facts.get("cpu") or {}).get("sockets") or {}).values():
        for name, revision in (model.get("other_microcode") or {}).items():
            if name.isdigit() and int(name) in shown:
                thread = iris.component(host, "thread", name)
                triples.link(thread, {ST.threadMicrocode: revision})


def _tlbs(triples: Triples, iris: Iris, host: str, facts: Facts) -> None:
    """Describe one node per TLB kind and socket, not one per core."""
    known = facts.get("tlbs") or {}
    sockets = (facts.get("hwloc") or {}).get("sockets") or []
    parts = {
        ids.container("socket", socket["threads"]): "socket"
        for socket in sockets
        if socket["threads"]
    }
    for part, kind in (parts or {"host": ""}).items():
        holder = iris.component(host, kind, part) if kind else iris.host(host)
        for tlb in known.get("tlbs") or []:
            _tlb(triples, iris.component(host, "tlb", _tlb_id(part, tlb)), tlb, holder)
            core = {ST.coreDesign: known.get("core_type")}
            triples.link(iris.component(host, "tlb", _tlb_id(part, tlb)), core)


def _tlb_id(part: str, tlb: Facts) -> str:
    pages = "-".join(_LETTERS.get(size, str(size)) for size in tlb["page_sizes"])
    return f"{part}.l{tlb['level']}.{tlb['type'] or 'all'}.{pages}"


def _tlb(triples: Triples, iri: URIRef, tlb: Facts, holder: URIRef) -> None:
    pages = "/".join(_LETTERS.get(size, str(size)) for size in tlb["page_sizes"])
    triples.node(
        iri,
        ST.Tlb,
        {
            ST.tlbLevel: tlb["level"],
            ST.tlbType: tlb["type"],
            ST.pageSize: tlb["page_sizes"],
            ST.tlbEntries: tlb["entries"],
            ST.tlbWays: tlb["ways"],
            ST.fullyAssociative: tlb["fully"] or None,
            ST.isPartOf: holder,
        },
        label=f"L{tlb['level']} {tlb['type'] or 'whole'} TLB, {pages} pages",
    )


def _hierarchies(triples: Triples, iris: Iris, host: str, facts: Facts) -> None:
    for entry in (facts.get("cgroups") or {}).get("hierarchies") or []:
        triples.node(
            iris.component(host, "cgroup", entry["path"]),
            ST.CgroupHierarchy,
            {
                ST.ofHost: iris.host(host),
                ST.mountPoint: entry["path"],
                ST.cgroupVersion: entry["version"],
                ST.hierarchyName: entry.get("name"),
                ST.controller: entry.get("controllers"),
                ST.enabledController: entry.get("enabled"),
                ST.delegatedGroup: entry.get("delegated"),
            },
            label=f"cgroups at {entry['path']}",
        )


def _memory(
    triples: Triples, iris: Iris, host: str, memory: Facts, facts: Facts
) -> None:
    known = {d["os_index"] for d in (facts.get("hwloc") or {}).get("numa") or []}
    for pool in memory.get("huge_pages") or []:
        _pool(triples, iris, host, pool, None)
    for domain in memory.get("numa") or []:
        # With one domain, its pools are those of the host.
        several = len(memory["numa"]) > 1 and domain["os_index"] in known
        for pool in domain.get("huge_pages") or [] if several else []:
            if pool["count"]:
                _pool(triples, iris, host, pool, domain["os_index"])
    for area in memory.get("swap") or []:
        triples.node(
            iris.component(host, "swap", area["name"]),
            ST.SwapArea,
            {
                ST.ofHost: iris.host(host),
                ST.swapName: area["name"],
                ST.swapType: area.get("type"),
                ST.swapSize: area.get("size"),
                ST.swapPriority: area.get("priority"),
            },
            label=f"swap on {area['name']}",
        )


def _pool(
    triples: Triples, iris: Iris, host: str, pool: dict[str, int], numa: int | None
) -> None:
    size = _LETTERS.get(pool["size"], str(pool["size"]))
    name = size if numa is None else f"{size}.numa-{numa}"
    domain = None if numa is None else iris.component(host, "numa", str(numa))
    triples.node(
        iris.component(host, "hugepages", name),
        ST.HugePagePool,
        {
            ST.ofHost: iris.host(host),
            ST.pageSize: pool["size"],
            ST.pageCount: pool["count"],
            ST.ofNumaDomain: domain,
        },
        label=f"huge pages of {size}",
    )


def _agents(triples: Triples, iris: Iris, host: str, facts: Facts) -> None:
    """Describe PCP's agents; st:pmdaName links the shared metrics to them."""
    for number, name in ((facts.get("pcp") or {}).get("pmdas") or {}).items():
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
