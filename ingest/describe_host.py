"""The host itself, and the probe that saw it."""

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from rdflib import XSD, Literal, URIRef

from ingest.sign import signs
from ingest.triples import Triples
from ontology.iris import Iris
from ontology.terms import PROV, ST


def describe_host(
    triples: Triples,
    iris: Iris,
    host: str,
    facts: dict[str, Any],
    exposed: Iterable[URIRef],
) -> None:
    """The compute node: system, board, firmware, identity, the metrics it exposes."""
    node = iris.host(host)
    triples.node(node, ST.ComputeNode, {ST.hostname: host}, label=host)
    triples.link(node, _system(facts.get("os") or {}))
    triples.link(node, _board(facts.get("board") or {}))
    triples.link(
        node,
        {
            ST.sign: signs(facts),
            ST.cpuModel: _cpu_model(facts),
            ST.exposes: list(exposed),
        },
    )


def describe_probe(triples: Triples, iris: Iris, document: dict[str, Any]) -> None:
    """When the host was probed, and how each source fared."""
    host = document["host"]
    stamp = re.sub(r"[^0-9TZ]", "", document["started"])
    probe = iris.component(host, "probe", stamp)
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
        source = iris.component(host, "source", f"{stamp}.{name}")
        triples.link(probe, {ST.consulted: source})
        triples.node(
            source,
            ST.ProbeSource,
            {
                ST.sourceName: name,
                ST.succeeded: outcome["ok"],
                ST.seconds: float(outcome["seconds"]),
                ST.reason: outcome["reason"],
            },
        )


def _time(text: str) -> Literal:
    datetime.fromisoformat(text)  # raises ValueError for what is no time
    return Literal(text, datatype=XSD.dateTime)


def _system(system: dict[str, Any]) -> dict[URIRef, Any]:
    return {
        ST.osName: system.get("os_name"),
        ST.kernelRelease: system.get("kernel"),
        ST.architecture: system.get("architecture"),
        ST.machineId: system.get("machine_id"),
        ST.memorySize: system.get("memory"),
    }


def _board(facts: dict[str, Any]) -> dict[URIRef, Any]:
    board, system, bios = (facts.get(k) or {} for k in ("board", "system", "bios"))
    return {
        ST.boardVendor: board.get("vendor"),
        ST.boardModel: board.get("model"),
        ST.boardSerial: board.get("serial"),
        ST.systemVendor: system.get("vendor"),
        ST.systemModel: system.get("model"),
        ST.systemSerial: system.get("serial"),
        ST.systemUuid: system.get("uuid"),
        ST.biosVendor: bios.get("vendor"),
        ST.biosVersion: bios.get("version"),
        ST.biosDate: bios.get("date"),
    }


def _cpu_model(facts: dict[str, Any]) -> str | None:
    sockets = (facts.get("cpu") or {}).get("sockets") or {}
    names = [socket.get("name") for socket in sockets.values()]
    for socket in (facts.get("hwloc") or {}).get("sockets") or []:
        names.append((socket.get("info") or {}).get("CPUModel"))
    return next((name for name in names if name), None)
