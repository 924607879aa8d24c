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
from core.stores.errors import SamplesError, UnitMismatchError, VirtualCycleError
from ingest.entailed import drop, with_entailed
from ingest.shape_check import first_fault
from ingest.triples import Triples, insertion
from ontology.iris import Iris
from ontology.terms import PREFIXES, QUDT, ST
from queries.terms import iri_term, text_term
from virtual_telemetry.check import Checked, Tree, check, scaled, whole
from virtual_telemetry.errors import (
    UnknownVirtualError,
    VirtualInUseError,
    VirtualNameError,
    VirtualTelemetryError,
)
from virtual_telemetry.expression import parse
from virtual_telemetry.inputs import GraphInputs
from virtual_telemetry.units import scale, unit

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
    EndpointError for inputs that Fuseki cannot compute. It is also refused if others
    compute with it, and could not do so any more.
    """
    _check_name(name)
    with _writing(settings, progress) as twin:
        iris = Iris(settings.base)
        known = _known(twin)
        made = _made(name, request, twin, iris)
        _check_no_cycle(made, known)
        _check_computable(made.tree, twin)
        _check_users(made, known, twin)
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
    """The host of all inputs; empty if they have several, or may have others later."""
    hosts = {facts.host for facts in checked.inputs}
    may_change = any("set" in leaf for leaf in _leaves(checked.tree))
    return hosts.pop() if len(hosts) == 1 and not may_change else ""


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


def _inputs(tree: Tree) -> list[str]:
    """The IRIs in a tree, which are its inputs apart from those of its sets."""
    return [leaf["input"] for leaf in _leaves(tree) if "input" in leaf]


def _leaves(tree: Tree) -> Iterator[Tree]:
    parts = [tree[key] for key in ("of", "left", "right") if key in tree]
    if not parts:
        yield tree
    for part in parts:
        yield from _leaves(part)


def _check_computable(tree: Tree, twin: Endpoint) -> None:
    """Let Fuseki write the expression, as it will when samples are asked for."""
    term = text_term(_json(tree))
    twin.table(
        f"{_PREFIX}SELECT ?text {{ VALUES ?tree {{ {term} }} "
        "?tree st:metricsQl ?text }"
    )


def fault(tree: Tree, twin: Endpoint) -> str:
    """Why an expression cannot be computed now; empty if it can be."""
    try:
        _check_computable(tree, twin)
    except SamplesError as error:
        return str(error)
    return ""


def _check_users(
    made: VirtualTelemetry, known: Mapping[str, VirtualTelemetry], twin: Endpoint
) -> None:
    """Compile all that computes with it, with the new definition in its place."""
    by_iri = {each.iri: each for each in known.values()}
    changed = {made.iri: made}
    while users := [each for each in by_iri.values() if _is_user(each, changed)]:
        changed |= {each.iri: each for each in users}
    for user in changed.values():
        why = "" if user is made else _new_fault(user.tree, changed, twin)
        # One that was wrong before must not keep others from being changed.
        if why and not fault(user.tree, twin):
            raise VirtualInUseError(
                f"{user.name} computes with {made.name}, and then could not: {why}; "
                "change or remove it first"
            )


def _is_user(one: VirtualTelemetry, changed: Mapping[str, VirtualTelemetry]) -> bool:
    return one.iri not in changed and any(iri in changed for iri in _inputs(one.tree))


def _new_fault(
    tree: Tree, changed: Mapping[str, VirtualTelemetry], twin: Endpoint
) -> str:
    try:
        return fault(_inlined(tree, changed), twin)
    except UnitMismatchError as error:
        return str(error)


def _inlined(tree: Tree, changed: Mapping[str, VirtualTelemetry]) -> Tree:
    """A tree with those of some of its inputs in their place."""
    one = changed.get(tree.get("input", ""))
    if one is None:
        return {key: _part_inlined(part, changed) for key, part in tree.items()}
    inner = _inlined(one.tree, changed)
    if one.unit == tree["unit"]:
        return inner
    if not (one.unit and tree["unit"]):
        raise UnitMismatchError(f"{one.name} would have {_unit_name(one.unit)}")
    return scaled(inner, scale(unit(one.unit), unit(tree["unit"])))


def _part_inlined(part: Any, changed: Mapping[str, VirtualTelemetry]) -> Any:
    return _inlined(part, changed) if isinstance(part, dict) else part


def _unit_name(iri: str) -> str:
    return f"the unit {iri.rpartition('/')[2]}" if iri else "no unit"


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
