"""Performance monitoring units: shared models with events, and a host's own."""

from typing import Any

from rdflib import RDFS, URIRef

from ingest.perf import is_usable
from ingest.triples import Triples
from ontology.iris import Iris
from ontology.terms import ST


def describe_pmus(
    twin: Triples, iris: Iris, host: str, facts: dict[str, Any]
) -> dict[URIRef, Triples]:
    """Describe a host's PMUs in `twin`; the answer holds a graph for each model."""
    graphs = {}
    for pmu in (facts.get("pfm") or {}).get("pmus") or []:
        model = Triples()
        _model(model, iris, pmu)
        graphs[iris.pmu_graph(pmu["name"])] = model
        twin.node(
            iris.component(host, "pmu", pmu["name"]),
            ST.Pmu,
            {
                ST.pmuName: pmu["name"],
                ST.pmuModel: iris.pmu(pmu["name"]),
                ST.isPartOf: iris.host(host),
                ST.counts: _counted(iris, host, pmu["type"], facts),
                ST.usable: is_usable(pmu["type"], facts.get("event_sources")),
            },
            label=f"PMU {pmu['name']}",
        )
    return graphs


def _model(triples: Triples, iris: Iris, pmu: dict[str, Any]) -> None:
    iri = iris.pmu(pmu["name"])
    triples.node(
        iri,
        ST.PmuModel,
        {
            ST.pmuName: pmu["name"],
            ST.pmuType: pmu["type"],
            ST.counterCount: pmu["counters"],
            ST.fixedCounterCount: pmu["fixed_counters"],
        },
        label=pmu["description"] or pmu["name"],
    )
    for event in pmu["events"]:
        _event(triples, iris, pmu["name"], event)


def _event(triples: Triples, iris: Iris, pmu: str, event: dict[str, Any]) -> None:
    name = event["name"]
    whole = iris.pmu_event(pmu, name)
    _event_node(triples, iris.pmu(pmu), whole, name, event, None)
    for umask in event["umasks"]:
        full = f"{name}:{umask['name']}"
        iri = iris.pmu_event(pmu, full)
        _event_node(triples, iris.pmu(pmu), iri, full, umask, whole)


def _event_node(
    triples: Triples,
    pmu: URIRef,
    iri: URIRef,
    name: str,
    entry: dict[str, Any],
    umask_of: URIRef | None,
) -> None:
    triples.node(
        iri,
        ST.PmuEvent,
        {
            ST.ofPmu: pmu,
            ST.pmuName: name,
            ST.umaskOf: umask_of,
            ST.eventCode: entry["code"],
            RDFS.comment: entry["description"],
        },
    )


def _counted(iris: Iris, host: str, kind: str, facts: dict[str, Any]) -> list[URIRef]:
    """A core PMU counts for each thread, an uncore one for each socket."""
    topology = facts.get("hwloc")
    if topology and kind == "core":
        indexes = [str(thread["os_index"]) for thread in topology["threads"]]
        return [iris.component(host, "thread", index) for index in indexes]
    if topology and kind == "uncore":
        lowest = [min(s["threads"]) for s in topology["sockets"] if s["threads"]]
        return [iris.component(host, "socket", f"socket-{low}") for low in lowest]
    return [iris.host(host)]
