"""What virtual telemetry is computed from, and what is computed from it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from core.stores.endpoint import Endpoint
from core.stores.errors import SamplesError, UnitMismatchError, VirtualCycleError
from ontology.terms import PREFIXES
from queries.terms import text_term
from virtual_telemetry.check import Tree, scaled
from virtual_telemetry.errors import VirtualInUseError
from virtual_telemetry.units import scale, unit


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


def text_of(tree: Tree) -> str:
    """A tree as the graph and Fuseki have it: JSON without spaces."""
    return json.dumps(tree, separators=(",", ":"))


def check_no_cycle(
    made: VirtualTelemetry, known: Mapping[str, VirtualTelemetry]
) -> None:
    """Raise VirtualCycleError if it would be computed from itself."""
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
    for iri in inputs_of(trees.get(start, {})):
        if iri == wanted:
            return [iri]
        if iri in trees and iri not in seen:
            seen.add(iri)
            if found := _path(iri, wanted, trees, seen):
                return [iri, *found]
    return []


def inputs_of(tree: Tree) -> list[str]:
    """The IRIs in a tree, which are its inputs apart from those of its sets."""
    return [leaf["input"] for leaf in leaves(tree) if "input" in leaf]


def leaves(tree: Tree) -> Iterator[Tree]:
    """The parts of a tree without parts: numbers, inputs and sets."""
    parts = [tree[key] for key in ("of", "left", "right") if key in tree]
    if not parts:
        yield tree
    for part in parts:
        yield from leaves(part)


def check_computable(tree: Tree, twin: Endpoint) -> None:
    """Let Fuseki write the expression, as it will when samples are asked for.

    Raises SamplesError if it cannot.
    """
    term = text_term(text_of(tree))
    twin.table(
        f"PREFIX st: <{PREFIXES['st']}>\nSELECT ?text {{ VALUES ?tree {{ {term} }} "
        "?tree st:metricsQl ?text }"
    )


def fault(tree: Tree, twin: Endpoint) -> str:
    """Why an expression cannot be computed now; empty if it can be."""
    try:
        check_computable(tree, twin)
    except SamplesError as error:
        return str(error)
    return ""


def check_users(
    made: VirtualTelemetry, known: Mapping[str, VirtualTelemetry], twin: Endpoint
) -> None:
    """Compile all that computes with it, with the new definition in its place.

    Raises VirtualInUseError for one that could not be computed any more.
    """
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
    return one.iri not in changed and any(iri in changed for iri in inputs_of(one.tree))


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
