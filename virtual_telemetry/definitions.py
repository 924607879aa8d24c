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
from core.stores.errors import VirtualCycleError
from ingest.entailed import drop, with_entailed
from ingest.shape_check import first_fault
from ingest.triples import Triples, insertion
from ontology.iris import Iris
from ontology.terms import PREFIXES, QUDT, ST
from queries.terms import iri_term, text_term
from virtual_telemetry.check import Checked, Tree, check, whole
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


@dataclass(frozen=True)
class VirtualTelemetry:
    """Stored virtual telemetry; ``unit`` and ``host`` are IRIs, empty without one."""

    iri: str
    name: str
    label: str
    expression: str
    unit: str
    host: str
    tree: Tree

    def document(self) -> dict[str, str]:
        """What the API and the command line show of it."""
        names = ("name", "iri", "label", "expression", "unit", "host")
        return {name: getattr(self, name) for name in names}


def add(
    settings: Settings, name: str, request: VirtualRequest, progress: Progress
) -> tuple[VirtualTelemetry, bool]:
    """Write virtual telemetry; also return whether it is new.

    Nothing is written if it is refused: raises VirtualTelemetryError, and an
    EndpointError for inputs that Fuseki cannot compute.
    """
    _check_name(name)
    with _writing(settings, progress) as twin:
        iris = Iris(settings.base)
        known = _known(twin)
        made = _made(name, request, twin, iris)
        _check_no_cycle(made, known)
        _check_computable(made, twin)
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
        users = [each.name for each in known.values() if iri in _inputs(each.tree)]
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
    """The host of all inputs; empty if they have several."""
    hosts = {facts.host for facts in checked.inputs}
    return hosts.pop() if len(hosts) == 1 else ""


def _triples(made: VirtualTelemetry) -> Triples:
    triples = Triples()
    properties = {
        ST.virtualName: made.name,
        ST.expression: made.expression,
        ST.expressionTree: _json(made.tree),
        QUDT.hasUnit: URIRef(made.unit) if made.unit else None,
        ST.ofHost: URIRef(made.host) if made.host else None,
    }
    triples.node(URIRef(made.iri), ST.VirtualTelemetry, properties, made.label)
    return triples


def _json(tree: Tree) -> str:
    return json.dumps(tree, separators=(",", ":"))


def _check_no_cycle(
    made: VirtualTelemetry, known: Mapping[str, VirtualTelemetry]
) -> None:
    trees = {each.iri: each.tree for each in known.values()} | {made.iri: made.tree}
    names = {each.iri: each.name for each in known.values()}
    path = _path(made.iri, made.iri, trees, set())
    if path:
        shown = " → ".join([made.name, *(names.get(one, made.name) for one in path)])
        raise VirtualCycleError(
            f"{made.name} would be computed from itself ({shown}): leave one of these "
            "inputs out"
        )


def _path(
    start: str, wanted: str, trees: Mapping[str, Tree], seen: set[str]
) -> list[str]:
    """The way from virtual telemetry to one of its inputs, direct or not."""
    for iri in _inputs(trees.get(start, {})):
        if iri == wanted:
            return [iri]
        if iri in trees and iri not in seen:
            seen.add(iri)
            if found := _path(iri, wanted, trees, seen):
                return [iri, *found]
    return []


def _inputs(tree: Any) -> list[str]:
    """The IRIs in a tree, which are its inputs apart from those of its sets."""
    if not isinstance(tree, dict):
        return []
    found = [tree["input"]] if "input" in tree else []
    for part in ("of", "left", "right"):
        found += _inputs(tree.get(part))
    return found


def _check_computable(made: VirtualTelemetry, twin: Endpoint) -> None:
    """Let Fuseki write the expression, as it will when samples are asked for."""
    tree = text_term(_json(made.tree))
    twin.table(
        f"{_PREFIX}SELECT ?text {{ VALUES ?tree {{ {tree} }} "
        "?tree st:metricsQl ?text }"
    )


def inputs(twin: Endpoint, iri: str) -> list[str]:
    """The inputs that virtual telemetry has now, sorted."""
    rows = twin.table(
        f"{_PREFIX}SELECT DISTINCT ?input {{ {iri_term(iri)} st:derivedFrom ?input }} "
        "ORDER BY ?input"
    ).rows
    return [str(row[0]) for row in rows]


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
