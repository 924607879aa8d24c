"""Virtual telemetry in the graph: adds, replaces, reads and removes it.

Each has its own named graph, so that it is written in one transaction and outlives the
next probe of its host.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from rdflib import URIRef

from core.linux.lock import turn
from core.settings.settings import Settings
from core.stores.datasets import Progress, dataset
from core.stores.endpoint import Endpoint
from ingest.entailed import drop, with_entailed
from ingest.shape_check import first_fault
from ingest.triples import Triples, insertion
from ontology.iris import Iris
from ontology.terms import PREFIXES, QUDT, ST
from queries.terms import iri_term
from virtual_telemetry.check import Checked, check, whole
from virtual_telemetry.dependencies import (
    VirtualTelemetry,
    check_computable,
    check_no_cycle,
    check_users,
    inputs_of,
    leaves,
    text_of,
)
from virtual_telemetry.errors import (
    UnknownVirtualError,
    VirtualInUseError,
    VirtualNameError,
    VirtualTelemetryError,
)
from virtual_telemetry.expression import parse
from virtual_telemetry.inputs import GraphInputs
from virtual_telemetry.units import unit

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_PREFIX = f"PREFIX st: <{PREFIXES['st']}>\n"
_ALL = f"""{_PREFIX}PREFIX qudt: <{PREFIXES["qudt"]}>
PREFIX rdfs: <{PREFIXES["rdfs"]}>
SELECT ?iri ?name ?label ?expression ?unit ?host ?tree {{
  ?iri a st:VirtualTelemetry ; st:virtualName ?name ; st:expression ?expression ;
    st:expressionTree ?tree .
  OPTIONAL {{ ?iri rdfs:label ?label }}
  OPTIONAL {{ ?iri qudt:hasUnit ?unit }}
  OPTIONAL {{ ?iri st:ofHost ?host }}
}} ORDER BY ?name"""


@dataclass(frozen=True)
class VirtualRequest:
    """What its author says of virtual telemetry; ``unit`` is a local name in QUDT."""

    expression: str
    unit: str = ""
    label: str = ""


def add(
    settings: Settings, name: str, request: VirtualRequest, progress: Progress
) -> tuple[VirtualTelemetry, bool]:
    """Write virtual telemetry; also return whether it is new.

    Nothing is written if it is refused: raises VirtualTelemetryError, and an
    EndpointError for inputs that Fuseki cannot compute. It is also refused if others
    compute with it, and could not do so any more.
    """
    _check_name(name)
    with _writing(settings, progress) as twin:
        iris = Iris(settings.base)
        known = _known(twin)
        made = _made(name, request, twin, iris)
        check_no_cycle(made, known)
        check_computable(made.tree, twin)
        check_users(made, known, twin)
        graph = iris.virtual_graph(name)
        triples = _triples(made)
        if fault := first_fault(triples, twin):
            raise VirtualTelemetryError(fault, code="bad-virtual-telemetry")
        written = insertion(with_entailed({graph: triples}, iris))
        twin.update(f"{drop(iris, graph)} ;\n{written}")
    return made, name not in known


def remove(settings: Settings, name: str, progress: Progress) -> None:
    """Remove virtual telemetry; raises UnknownVirtualError and VirtualInUseError."""
    with _writing(settings, progress) as twin:
        iris = Iris(settings.base)
        known = _known(twin)
        iri = _one(name, known).iri
        users = [each.name for each in known.values() if iri in inputs_of(each.tree)]
        if users:
            raise VirtualInUseError(
                f"{', '.join(users)} computes with {name}: change or remove it first"
            )
        twin.update(drop(iris, iris.virtual_graph(name)))


def find(twin: Endpoint, name: str) -> VirtualTelemetry:
    """Return virtual telemetry by its name; raises UnknownVirtualError."""
    return _one(name, _known(twin))


def every(twin: Endpoint) -> list[VirtualTelemetry]:
    """All virtual telemetry, by name."""
    return list(_known(twin).values())


@contextmanager
def _writing(settings: Settings, progress: Progress) -> Iterator[Endpoint]:
    """One writer at a time: two could each close a half of a cycle."""

    def wait() -> None:
        progress("another command writes virtual telemetry: waiting until it is done")

    with (
        turn(settings.home / "turns", wait, "virtual~20telemetry"),
        dataset(settings, "twin") as twin,
    ):
        yield twin


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise VirtualNameError(
            f"{name[:80]!r} cannot be a name: write up to 64 of a-z, 0-9 and -, and no "
            "- at the start"
        )


def _made(
    name: str, request: VirtualRequest, twin: Endpoint, iris: Iris
) -> VirtualTelemetry:
    wanted = unit(request.unit) if request.unit else None
    expression = parse(request.expression)
    checked = whole(check(expression, GraphInputs(twin, iris.base)), wanted)
    return VirtualTelemetry(
        str(iris.virtual(name)),
        name,
        request.label or name,
        request.expression,
        checked.unit.iri if checked.unit else "",
        _host(checked),
        checked.tree,
    )


def _host(checked: Checked) -> str:
    """The host of all inputs; empty if they have several, or may have others later."""
    hosts = {facts.host for facts in checked.inputs}
    may_change = any("set" in leaf for leaf in leaves(checked.tree))
    return hosts.pop() if len(hosts) == 1 and not may_change else ""


def _triples(made: VirtualTelemetry) -> Triples:
    triples = Triples()
    properties = {
        ST.virtualName: made.name,
        ST.expression: made.expression,
        ST.expressionTree: text_of(made.tree),
        QUDT.hasUnit: URIRef(made.unit) if made.unit else None,
        ST.ofHost: URIRef(made.host) if made.host else None,
    }
    triples.node(URIRef(made.iri), ST.VirtualTelemetry, properties, made.label)
    return triples


def inputs(twin: Endpoint, iri: str) -> list[str]:
    """The inputs that virtual telemetry has now, sorted."""
    return [str(row[0]) for row in twin.table(inputs_query(iri)).rows]


def inputs_query(iri: str) -> str:
    """The query for the inputs that virtual telemetry has now, ``?input``."""
    return (
        f"{_PREFIX}SELECT DISTINCT ?input {{ {iri_term(iri)} st:derivedFrom ?input }} "
        "ORDER BY ?input"
    )


def _known(twin: Endpoint) -> dict[str, VirtualTelemetry]:
    found = {}
    for row in twin.table(_ALL).records():
        texts: dict[str, Any] = {key: value or "" for key, value in row.items()}
        texts["tree"] = json.loads(row["tree"])
        found[str(row["name"])] = VirtualTelemetry(**texts)
    return found


def _one(name: str, known: Mapping[str, VirtualTelemetry]) -> VirtualTelemetry:
    if name in known:
        return known[name]
    near = get_close_matches(name[:100], known, n=3) or [*known][:5]
    hint = f"there are {', '.join(near)}" if near else "there is none"
    raise UnknownVirtualError(f"no virtual telemetry {name[:80]!r}; {hint}")
