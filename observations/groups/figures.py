"""The metrics of a group as expressions over roles."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce

from observations.derived import RUN_SECONDS
from observations.errors import BadGroupError, NotImportedError, RefusedGroupError
from observations.groups.events import GroupEvents, GroupRole
from observations.groups.likwid import Counter, LikwidGroup, translations
from virtual_telemetry.errors import ExpressionError
from virtual_telemetry.expression import (
    Expression,
    Input,
    Number,
    Operation,
    inputs_of,
    parse,
)

_TIME, _CLOCK = "time", "inverseClock"
_HAS_TIME = "every run has its time"
# A name, not the exponent of a number.
_VARIABLE = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?::\w+(?:=\w+)?)*")
_POINT = re.compile(r"(\d)\.(?!\d)")
_UNIT = re.compile(r"\[([^]]+)\]$")


@dataclass(frozen=True)
class GroupFigure:
    """A metric of a group; ``unit`` is QUDT's, empty if it has none."""

    name: str
    expression: str
    unit: str


@dataclass(frozen=True)
class EventGroup:
    """A group with its roles and figures, and the reasons why metrics are left out."""

    group: LikwidGroup
    roles: tuple[GroupRole, ...]
    figures: tuple[GroupFigure, ...]
    omitted: Mapping[str, str]


def derive_group(group: LikwidGroup) -> EventGroup:
    """Return the figures of a group on its PMU model.

    Raises PmuError for an unknown model, BadGroupError for a formula that cannot be
    read, and RefusedGroupError if no metric can be derived.
    """
    events = GroupEvents(group.model)
    figures, omitted, needed = [], {}, set()
    for name, formula in group.metrics.items():
        read = _parsed(group, name, formula)
        try:
            expression = _over_roles(read, group, events)
        except NotImportedError as error:
            omitted[name] = str(error)
        else:
            needed |= {*inputs_of(expression)}
            figures.append(
                GroupFigure(f"{group.name} {name}", str(expression), _unit(name))
            )
    if not figures:
        first = next((one for one in omitted.values() if one != _HAS_TIME), _HAS_TIME)
        raise RefusedGroupError(
            f"{group.name} has no metric that {group.model} can count here: {first}"
        )
    roles = tuple(role for name, role in events.roles.items() if name in needed)
    return EventGroup(group, roles, tuple(figures), omitted)


def _parsed(group: LikwidGroup, name: str, formula: str) -> Expression:
    """Read a formula, with registers as inputs; raises BadGroupError."""
    text = _VARIABLE.sub(r"<\g<0>>", _POINT.sub(r"\1", formula))
    try:
        return parse(text)
    except ExpressionError as error:
        raise BadGroupError(f"{group.source}: {name}: {error}") from None


def _over_roles(
    read: Expression, group: LikwidGroup, events: GroupEvents
) -> Expression:
    """Replace registers by roles; raises NotImportedError."""
    found = _replaced(read, group, events)
    if not any(name != RUN_SECONDS for name in inputs_of(found)):
        raise NotImportedError(_HAS_TIME)
    try:
        return parse(str(found))
    except ExpressionError as error:
        raise NotImportedError(str(error)) from None


def _replaced(read: Expression, group: LikwidGroup, events: GroupEvents) -> Expression:
    match read:
        case Number():
            return read
        case Operation(operator, left, right) if operator != "+":
            both = (_replaced(one, group, events) for one in (left, right))
            return Operation(operator, *both)
    return reduce(lambda a, b: Operation("+", a, b), _sum(read, group, events))


def _sum(
    read: Expression, group: LikwidGroup, events: GroupEvents
) -> Iterator[Expression]:
    """Yield the terms of a sum; a role stands for all boxes that count one event."""
    terms = [*_terms(read)]
    inputs = [one.iri for one in terms if isinstance(one, Input)]
    for term in terms:
        if not isinstance(term, Input):
            yield _replaced(term, group, events)
        elif term.iri == _TIME:
            yield Input(RUN_SECONDS)
        elif term.iri == _CLOCK:
            raise NotImportedError(
                "a run does not know the frequency of the time stamp counter"
            )
        elif term.iri not in group.counters:
            raise NotImportedError(f"{term.iri} is not below EVENTSET")
        else:
            counter = group.counters[term.iri]
            boxes = _boxes(counter, group)
            if sorted(one for one in inputs if one in boxes) != sorted(boxes):
                raise NotImportedError(
                    f"{counter.register} {counter.event}: all boxes together are a "
                    "role, not some of them"
                )
            if term.iri == boxes[0]:
                yield events.find(counter)


def _boxes(counter: Counter, group: LikwidGroup) -> list[str]:
    """The registers that count the same event in other boxes; one for the core."""
    is_core = counter.kind in translations()["core"]
    return [
        name
        for name, one in group.counters.items()
        if one == counter
        or (not is_core and (one.kind, one.name) == (counter.kind, counter.name))
    ]


def _terms(read: Expression) -> Iterator[Expression]:
    match read:
        case Operation("+", left, right):
            yield from (*_terms(left), *_terms(right))
        case _:
            yield read


def _unit(name: str) -> str:
    found = _UNIT.search(name)
    return str(translations()["units"].get(found[1], "")) if found else ""
