"""Compare what several sources say: which value wins, and which sources disagree.

The precedence rules are in `ingest.conflict_resolution.precedence`: the first source of
a rule that knows a value wins. Pure: facts in, values and claims out.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rdflib import URIRef

from ingest.schema.schema import Facts

# Kind and id of a component of a host, such as ("disk", "sda"); () is the host itself.
Component = tuple[str, ...]
Value = str | int | float | bool
Read = Callable[[Facts], Mapping[Component, Value | None]]


def equal(one: Value, other: Value) -> bool:
    """Whether two values are equal."""
    return one == other


@dataclass(frozen=True)
class Rule:
    """One property and its sources, in order of precedence.

    If the winner is in `elsewhere`, another describer writes the value and nothing is
    added here. `same` decides whether two spellings are the same value.
    """

    property: URIRef
    sources: tuple[tuple[str, Read], ...]
    same: Callable[[Any, Any], bool] = equal
    elsewhere: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Claim:
    """What one source says of a property on which the sources disagree."""

    component: Component
    property: URIRef
    source: str
    value: Value
    won: bool


@dataclass
class Resolved:
    """The winning values that no other describer writes, and all claims."""

    values: dict[Component, dict[URIRef, Value]] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)

    def of(self, *component: str) -> dict[URIRef, Value]:
        """The properties of a component."""
        return self.values.get(component, {})


def resolve(facts: Facts, rules: Iterable[Rule]) -> Resolved:
    """Apply the rules to the facts of a probe."""
    resolved = Resolved()
    for rule in rules:
        values_of: dict[Component, dict[str, Value]] = {}
        for source, read in rule.sources:
            for component, value in read(facts).items():
                if value is not None and value != "":
                    values_of.setdefault(component, {})[source] = value
        for component, values in values_of.items():
            _decide(resolved, rule, component, values)
    return resolved


def _decide(
    resolved: Resolved, rule: Rule, component: Component, values: dict[str, Value]
) -> None:
    winner, best = next(iter(values.items()))
    if winner not in rule.elsewhere:
        resolved.values.setdefault(component, {})[rule.property] = best
    if all(rule.same(best, value) for value in values.values()):
        return
    resolved.claims += [
        Claim(component, rule.property, source, value, rule.same(best, value))
        for source, value in values.items()
    ]
