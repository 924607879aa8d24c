"""Describe the host itself and the probe that examined it."""

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from rdflib import XSD, Literal, URIRef

from ingest.conflict_resolution.claims import Resolved
from ingest.schema.schema import Facts, ProbeDocument, System
from ingest.sign import signs
from ingest.triples import Triples
from ontology.iris import Iris
from ontology.terms import PROV, ST


def describe_host(
    triples: Triples,
    iris: Iris,
    host: str,
    facts: Facts,
    resolved: Resolved,
    exposed: Iterable[URIRef],
) -> None:
    """Describe the compute node: system, board, firmware, identity, exposed metrics."""
    node = iris.host(host)
    triples.node(node, ST.ComputeNode, {ST.hostname: host}, label=host)
    triples.link(node, _system(facts.os))
    triples.link(node, resolved.of())
    triples.link(
        node,
        {
            ST.sign: signs(facts),
            ST.cpuModel: _cpu_model(facts),
            ST.exposes: list(exposed),
        },
    )


def describe_probe(triples: Triples, iris: Iris, document: ProbeDocument) -> None:
    """Describe when the host was probed, and the outcome of each source."""
    host = document.host
    probe = iris.component(host, "probe", _stamp(document))
    triples.node(
        probe,
        ST.Probe,
        {
            PROV.startedAtTime: _time(document.started),
            PROV.endedAtTime: _time(document.ended),
        },
    )
    triples.link(iris.host(host), {PROV.wasGeneratedBy: probe})
    for name, outcome in document.sources.items():
        source = source_iri(iris, document, name)
        triples.link(probe, {ST.consulted: source})
        triples.node(
            source,
            ST.ProbeSource,
            {
                ST.sourceName: name,
                ST.succeeded: outcome.ok,
                ST.seconds: float(outcome.seconds),
                ST.reason: outcome.reason,
                ST.errorCode: outcome.code,
                ST.leftOut: outcome.left_out,
            },
        )


def source_iri(iris: Iris, document: ProbeDocument, name: str) -> URIRef:
    """The IRI of a source of one probe; every probe has new ones."""
    return iris.component(document.host, "source", f"{_stamp(document)}.{name}")


def _stamp(document: ProbeDocument) -> str:
    return re.sub(r"[^0-9TZ]", "", document.started)


def _time(text: str) -> Literal:
    datetime.fromisoformat(text)  # raises ValueError if it is not a time
    return Literal(text, datatype=XSD.dateTime)


def _system(system: System) -> dict[URIRef, Any]:
    return {
        ST.osName: system.os_name,
        ST.kernelRelease: system.kernel,
        ST.architecture: system.architecture,
        ST.machineId: system.machine_id,
    }


def _cpu_model(facts: Facts) -> str | None:
    names = [socket.name for socket in facts.cpu.sockets.values()]
    names += [socket.info.get("CPUModel") for socket in facts.hwloc.sockets]
    return next((name for name in names if name), None)
