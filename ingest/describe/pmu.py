"""Describe PMUs (performance monitoring units): shared models, and a host's own."""

from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from rdflib import RDFS, URIRef

from ingest.errors import ProbeSourceError
from ingest.pmu.kernel import KernelPmu, kernel_pmus
from ingest.pmu.models import pmus_of, processors
from ingest.pmu.pfm import list_models, read_events, read_models
from ingest.pmu.roles import kernel_pmus_of, known_codes, role_events
from ingest.pmu.scope import counted, is_usable, scope_of
from ingest.triples import Triples
from ontology.iris import Iris
from ontology.terms import ST

if TYPE_CHECKING:
    from ingest.schema.schema import Facts, Mask, ProbedEvent, ProbedPmu

_Event = TypeVar("_Event", bound="Mask")

# libpfm4's name for the kernel's own events, which it finds on every machine.
_KERNEL = "perf"


def describe_pmus(
    twin: Triples,
    iris: Iris,
    host: str,
    facts: "Facts",
    known: Collection[str] = (),
) -> dict[URIRef, Triples]:
    """Describe a host's PMUs in `twin`; return a graph for each model.

    If libpfm4 reported nothing for the machine, use the PMUs of its processor models.
    The store already has the events of models in `known`; these are left out.
    """
    graphs = {}
    pmus = list(_pmus(facts))
    for pmu in pmus:
        name, type_ = pmu.name, pmu.type
        scope = scope_of(name, type_)
        graphs[iris.pmu_graph(name)] = describe_model(iris, pmu, name not in known)
        twin.node(
            iris.component(host, "pmu", name),
            ST.Pmu,
            {
                ST.pmuName: name,
                ST.pmuModel: iris.pmu(name),
                ST.isPartOf: iris.host(host),
                ST.counts: counted(iris, host, scope, facts.hwloc),
                ST.usable: is_usable(name, type_, facts.event_sources),
            },
            label=f"PMU {name}",
        )
    for own in _kernel_pmus(facts, [pmu.name for pmu in pmus]):
        graphs[iris.pmu_graph(own.name)] = model = Triples()
        _kernel_model(model, iris, own)
        _kernel_pmu(twin, iris, host, facts, own)
    return graphs


def _kernel_pmus(facts: "Facts", models: Collection[str]) -> Iterator[KernelPmu]:
    """Yield the kernel's PMUs that roles of these models use.

    If the devices of the kernel are unknown, these are all that the models may have.
    """
    used = {name for model in models for name in kernel_pmus_of(model)}
    for name, pmu in kernel_pmus().items():
        if name in used and (
            facts.event_sources is None or name in facts.event_sources
        ):
            yield pmu


def _kernel_pmu(
    twin: Triples, iris: Iris, host: str, facts: "Facts", pmu: KernelPmu
) -> None:
    formats = facts.perf.formats.get(pmu.name, {})
    twin.node(
        iris.component(host, "pmu", pmu.name),
        ST.Pmu,
        {
            ST.pmuName: pmu.name,
            ST.pmuModel: iris.pmu(pmu.name),
            ST.isPartOf: iris.host(host),
            ST.counts: counted(iris, host, pmu.scope, facts.hwloc),
            ST.usable: None if facts.event_sources is None else True,
            ST.kernelFormat: [f"{term}={bits}" for term, bits in formats.items()],
            ST.kernelCpus: facts.perf.cpumasks.get(pmu.name),
        },
        label=f"PMU {pmu.name}",
    )


def describe_model(iris: Iris, pmu: "ProbedPmu", with_events: bool = True) -> Triples:
    """Describe a PMU model and its events."""
    triples, name = Triples(), pmu.name
    triples.node(
        iris.pmu(name),
        ST.PmuModel,
        {
            ST.pmuName: name,
            ST.pmuType: pmu.type,
            ST.countScope: scope_of(name, pmu.type),
            ST.counterCount: pmu.counters,
            ST.fixedCounterCount: pmu.fixed_counters,
            ST.maxEncoding: pmu.max_encoding,
            ST.eventCount: pmu.event_count,
            ST.eventModifier: [f"{k}: {text}" for k, text in pmu.modifiers.items()],
        },
        label=pmu.description or name,
    )
    for event in _once(pmu.events if with_events else []):
        _event(triples, iris, name, event)
    return triples


def describe_role_events(triples: Triples, iris: Iris) -> None:
    """Describe the events that roles use, each with its PMU model's name."""
    for pmu, events in _role_events().items():
        triples.node(iris.pmu(pmu), ST.PmuModel, {ST.pmuName: pmu})
        for name, encoding in events:
            describe_encoded_event(triples, iris, pmu, name, encoding)


def describe_encoded_event(
    triples: Triples, iris: Iris, pmu: str, name: str, encoding: list[str]
) -> None:
    """Describe an event of libpfm4 with its encoding, and the event without masks."""
    # Imported here because commands that need no event should start fast.
    from ingest.schema.schema import Mask

    whole = name.partition(":")[0]
    umask_of = iris.pmu_event(pmu, whole) if whole != name else None
    iri = iris.pmu_event(pmu, name)
    event = Mask(name=name, encoding=encoding)
    _event_node(triples, iris.pmu(pmu), iri, name, event, umask_of)
    if umask_of:
        event = Mask(name=whole)
        _event_node(triples, iris.pmu(pmu), umask_of, whole, event, None)


def describe_kernel_pmus(triples: Triples, iris: Iris) -> None:
    """Describe the kernel's PMUs that roles use, with the terms of their events."""
    for pmu in kernel_pmus().values():
        _kernel_model(triples, iris, pmu)


def _kernel_model(triples: Triples, iris: Iris, pmu: KernelPmu) -> None:
    # The scope of a thread is that of a model of cores, which ``cpu`` is not.
    own = pmu.scope != "thread"
    triples.node(
        iris.pmu(pmu.name),
        ST.PmuModel,
        {
            ST.pmuName: pmu.name,
            ST.pmuType: "uncore" if own else "os",
            ST.countScope: pmu.scope if own else None,
            ST.counterCount: pmu.counters or None,
            ST.citation: pmu.source,
        },
        label=f"{pmu.name} of the kernel",
    )
    for event, terms in pmu.events.items():
        triples.node(
            iris.pmu_event(pmu.name, event),
            ST.PmuEvent,
            {
                ST.ofPmu: iris.pmu(pmu.name),
                ST.pmuName: event,
                ST.kernelTerms: terms or None,
            },
        )


def _role_events() -> dict[str, list[tuple[str, list[str]]]]:
    """Names and encodings; without libpfm4 an event may have no encoding."""
    names = role_events()
    try:
        read = read_events(names)
    except ProbeSourceError:
        read = {}
    return {
        pmu: [
            (event, found.get(event) or _known_encoding(pmu, event)) for event in events
        ]
        for pmu, events in names.items()
        for found in [{e["name"]: e["encoding"] for e in read.get(pmu, [])}]
    }


def _known_encoding(pmu: str, event: str) -> list[str]:
    code = known_codes().get((pmu, event))
    return [code] if code else []


def _pmus(facts: "Facts") -> Iterator["ProbedPmu"]:
    """Yield libpfm4's PMUs; else those of the processor models, as known here.

    The kernel's own PMU is then added if the event sources are known, even without any
    other.
    """
    if facts.pfm.pmus:
        yield from facts.pfm.pmus
        return
    named = [name for each in processors(facts) for name in pmus_of(each)]
    named += [_KERNEL] if facts.event_sources else []
    yield from (_known_model(name) for name in dict.fromkeys(named))


@lru_cache(maxsize=512)
def _known_model(name: str) -> "ProbedPmu":
    from ingest.schema.schema import ProbedPmu

    return ProbedPmu.model_validate(_model_facts(name))


def _model_facts(name: str) -> dict[str, Any]:
    """A model from this machine's libpfm4, without the events of uncore boxes."""
    try:
        models = {model["name"]: model for model in _models()}
        if name not in models:
            # An older libpfm4, or one for another architecture, does not know it.
            return {"name": name, "type": "uncore" if "_unc_" in name else "core"}
        if models[name]["type"] == "core":
            return read_models([name])[0]
        return {**models[name], "event_count": models[name]["events"], "events": []}
    except ProbeSourceError:
        return {"name": name, "type": "unknown"}


@lru_cache(maxsize=1)
def _models() -> list[dict[str, Any]]:
    return list_models()


def _once(entries: list[_Event]) -> list[_Event]:
    """Drop repeated names: libpfm4 encodes the first entry of a name."""
    return list({entry.name: entry for entry in reversed(entries)}.values())[::-1]


def _event(triples: Triples, iris: Iris, pmu: str, event: "ProbedEvent") -> None:
    name = event.name
    whole = iris.pmu_event(pmu, name)
    _event_node(triples, iris.pmu(pmu), whole, name, event, None)
    for umask in _once(event.umasks):
        full = f"{name}:{umask.name}"
        iri = iris.pmu_event(pmu, full)
        _event_node(triples, iris.pmu(pmu), iri, full, umask, whole)


def _event_node(
    triples: Triples,
    pmu: URIRef,
    iri: URIRef,
    name: str,
    entry: "Mask",
    umask_of: URIRef | None,
) -> None:
    triples.node(
        iri,
        ST.PmuEvent,
        {
            ST.ofPmu: pmu,
            ST.pmuName: name,
            ST.umaskOf: umask_of,
            ST.eventCode: entry.code,
            ST.eventFlag: entry.flags,
            ST.eventEncoding: ",".join(entry.encoding),
            RDFS.comment: entry.description,
        },
    )
