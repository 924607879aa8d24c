"""Describe the host itself and the probe that examined it."""

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from rdflib import XSD, Literal, URIRef

from ingest.conflict_resolution.claims import Resolved
from ingest.sign import signs
from ingest.triples import Triples
from ontology.iris import Iris
from ontology.terms import PROV, ST


def describe_host(
    triples: Triples,
    iris: Iris,
    host: str,
    facts: dict[str, Any],
    resolved: Resolved,
    exposed: Iterable[URIRef],
) -> None:
    """Describe the compute node: system, board, firmware, identity, exposed metrics."""
    node = iris.host(host)
    triples.node(node, ST.ComputeNode, {ST.hostname: host}, label=host)
    triples.link(node, _system(facts.get("os") or {}))
    triples.link(node, resolved.of())
    triples.link(
        node,
        {
            ST.sign: signs(facts),
            ST.cpuModel: _cpu_model(facts),
            ST.exposes: list(exposed),
        },
    )


def describe_probe(triples: Triples, iris: Iris, document: dict[str, Any]) -> None:
    """Describe when the host was probed, and the outcome of each source."""
    host = document["host"]
    probe = iris.component(host, "probe", _stamp(document))
    triples.node(
        probe,
        ST.Probe,
        {
            PROV.startedAtTime: _time(document["started"]),
            PROV.endedAtTime: _time(document["ended"]),
        },
    )
    triples.link(iris.host(host), {PROV.wasGeneratedBy: probe})
    for name, outcome in document["sources"].items():
        source = source_iri(iris, document, name)
        triples.link(probe, {ST.consulted: source})
        triples.node(
            source,
            ST.ProbeSource,
            {
                ST.sourceName: name,
                ST.succeeded: outcome["ok"],
                ST.seconds: float(outcome["seconds"]),
                ST.reason: outcome["reason"],
                ST.errorCode: outcome.get("code"),
                ST.leftOut: outcome.get("left_out"),
            },
        )


def source_iri(iris: Iris, document: dict[str, Any], name: str) -> URIRef:
    """The IRI of a source of one probe; every probe has new ones."""
    return iris.component(document["host"], "source", f"{_stamp(document)}.{name}")


def _stamp(document: dict[str, Any]) -> str:
    return re.sub(r"[^0-9TZ]", "", document["started"])


def _time(text: str) -> Literal:
    datetime.fromisoformat(text)  # raises ValueError if it is not a time
    return Literal(text, datatype=XSD.dateTime)


def _system(system: dict[str, Any]) -> dict[URIRef, Any]:
    return {
        ST.osName: system.get("os_name"),
        ST.kernelRelease: system.get("kernel"),
        ST.architecture: system.get("architecture"),
        ST.machineId: system.get("machine_id"),
    }


def _cpu_model(facts: dict[str, Any]) -> str | None:
    sockets = (facts.get("cpu") or {}).get("sockets") or {}
    names = [socket.get("name") for socket in sockets.values()]
    for socket in (facts.get("hwloc") or {}).get("sockets") or []:
        names.append((socket.get("info") or {}).get("CPUModel"))
    return next((name for name in names if name), None)
