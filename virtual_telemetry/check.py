"""Checks an expression: what kind of values it has, and in which unit.

The result is the expression as a tree with all conversions, in JSON. Fuseki's extension
reads it when samples are asked for (fuseki/org/w3id/supertwin/samples).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from core.stores.errors import UnitMismatchError
from ontology.terms import UNIT
from virtual_telemetry.errors import ExpressionError
from virtual_telemetry.expression import (
    AGGREGATES,
    OF_COUNTERS,
    Call,
    Conversion,
    Expression,
    Input,
    Number,
    Operation,
    Pattern,
)
from virtual_telemetry.units import (
    NUMBER,
    SECOND,
    Measure,
    product,
    scale,
    unit,
)

Tree = dict[str, Any]
Kind = Literal["number", "series", "set"]
_COUNT = "count"


@dataclass(frozen=True)
class InputFacts:
    """What the graph says of telemetry.

    ``unit`` is an IRI, empty if none is known; ``host`` is empty for virtual telemetry.
    """

    iri: str
    host: str = ""
    unit: str = ""
    counter: bool = False
    text: bool = False


class Inputs(Protocol):
    """Finds the inputs of an expression in the graph."""

    def one(self, iri: str) -> InputFacts:
        """Return the facts of telemetry; raises ExpressionError if it is unknown."""

    def members(self, pattern: str) -> tuple[str, Sequence[InputFacts]]:
        """Return the query for a pattern, and its telemetry; raises ExpressionError."""


@dataclass(frozen=True)
class Checked:
    """A checked expression; ``unit`` is None if it is not known.

    ``counter``: the values are those of counters, which only grow.
    """

    kind: Kind
    unit: Measure | None
    tree: Tree
    counter: bool = False
    inputs: tuple[InputFacts, ...] = field(default=())


def check(expression: Expression, inputs: Inputs) -> Checked:
    """Check an expression; raises ExpressionError and UnitMismatchError."""
    match expression:
        case Number(value):
            return Checked("number", NUMBER, {"number": value})
        case Input(iri):
            return _input(inputs.one(iri))
        case Pattern(text):
            return _set(text, inputs)
        case Conversion(of, name):
            return _converted(check(of, inputs), unit(name))
        case Operation(operator, left, right):
            return _operation(operator, check(left, inputs), check(right, inputs))
        case Call(function, of):
            return _call(function, check(of, inputs))


def whole(checked: Checked, wanted: Measure | None) -> Checked:
    """A whole expression in the wanted unit; raises ExpressionError."""
    if checked.kind == "number":
        raise ExpressionError("the expression has no telemetry: name some as <IRI>")
    if checked.kind == "set":
        raise ExpressionError(
            "the expression is a set of series: make it one with "
            f"{', '.join(AGGREGATES)}, such as sum({{ … }})"
        )
    _check_no_counter(checked)
    return checked if wanted is None else _in(checked, wanted)


def _input(facts: InputFacts) -> Checked:
    _check_numbers(facts)
    measure = unit(facts.unit) if facts.unit else None
    tree = {"input": facts.iri, "unit": facts.unit}
    return Checked("series", measure, tree, facts.counter, (facts,))


def _set(text: str, inputs: Inputs) -> Checked:
    query, members = inputs.members(text)
    if not members:
        raise ExpressionError(f"no telemetry matches {{ {text} }}")
    first = members[0]
    measure = unit(first.unit) if first.unit else None
    for facts in members:
        _check_numbers(facts)
        if facts.counter != first.counter:
            raise ExpressionError(
                f"{{ {text} }} matches counters and others: <{first.iri}>, "
                f"<{facts.iri}>; narrow the pattern"
            )
        _check_convertible(first, facts)
    tree = {"set": query, "unit": first.unit}
    return Checked("set", measure, tree, first.counter, tuple(members))


def _check_convertible(first: InputFacts, other: InputFacts) -> None:
    if first.unit == other.unit:
        return
    if not (first.unit and other.unit):
        raise UnitMismatchError(
            f"of <{first.iri}> and <{other.iri}>, one has no unit: narrow the pattern"
        )
    scale(unit(other.unit), unit(first.unit))


def _check_numbers(facts: InputFacts) -> None:
    if facts.text:
        raise ExpressionError(f"the values of <{facts.iri}> are texts, not numbers")


def _check_no_counter(checked: Checked) -> None:
    if checked.counter:
        raise ExpressionError(
            f"<{checked.inputs[0].iri}> is a counter, which only grows: use "
            "rate() or increase() of it"
        )


def _converted(checked: Checked, to: Measure) -> Checked:
    if checked.kind == "number" and checked.unit == NUMBER:
        return Checked("number", to, checked.tree)
    _check_no_counter(checked)
    return _in(checked, to)


def _in(checked: Checked, to: Measure) -> Checked:
    """Values in another unit; values without a unit are taken to be in it."""
    if checked.unit is None:
        return Checked(checked.kind, to, checked.tree, False, checked.inputs)
    tree = scaled(checked.tree, scale(checked.unit, to))
    return Checked(checked.kind, to, tree, False, checked.inputs)


def scaled(tree: Tree, by: float) -> Tree:
    """The tree of values that are multiplied by a number."""
    return tree if by == 1 else {"scale": by, "of": tree}


def _operation(operator: str, left: Checked, right: Checked) -> Checked:
    for one in (left, right):
        _check_no_counter(one)
        if one.kind == "set":
            raise ExpressionError(
                f"a set has no {operator}: make it one series first, with "
                f"{', '.join(AGGREGATES)}"
            )
    kind: Kind = "number" if left.kind == right.kind == "number" else "series"
    inputs = (*left.inputs, *right.inputs)
    if operator in "+-":
        right = _like(left, right)
        measure = left.unit
    else:
        measure = _product(left, right, 1 if operator == "*" else -1)
    tree = {"operator": operator, "left": left.tree, "right": right.tree}
    return Checked(kind, measure, tree, False, inputs)


def _like(left: Checked, right: Checked) -> Checked:
    """The right side of a sum, in the unit of the left one."""
    if (left.unit is None) != (right.unit is None):
        known = left.unit or right.unit
        raise UnitMismatchError(
            f"one side of a sum is in {known}, the other has no unit: write in(…, "
            "unit:…)"
        )
    return right if left.unit is None else _in(right, left.unit)


def _product(left: Checked, right: Checked, power: int) -> Measure | None:
    if left.unit is None or right.unit is None:
        return None
    return product(left.unit, right.unit, power)


def _call(function: str, of: Checked) -> Checked:
    if function in OF_COUNTERS:
        return _growth(function, of)
    if function == _COUNT:
        return _count(of)
    _check_no_counter(of)
    tree = {"function": function, "of": of.tree}
    if function in AGGREGATES:
        _check_set(function, of)
        return Checked("series", of.unit, tree, False, of.inputs)
    if of.kind == "number":
        raise ExpressionError(f"{function} of a number: it takes telemetry or a set")
    power = -1 if function == "derivative" else 1
    measure = None if of.unit is None else product(of.unit, SECOND, power)
    return Checked(of.kind, measure, tree, False, of.inputs)


def _growth(function: str, of: Checked) -> Checked:
    if not of.counter:
        raise ExpressionError(
            f"{function} takes a counter, or a set of counters, and nothing around it; "
            "for other values there is derivative"
        )
    tree = {"function": function, "of": of.tree}
    measure = of.unit
    if function == "rate" and measure is not None:
        measure = product(measure, SECOND, -1)
    return Checked(of.kind, measure, tree, False, of.inputs)


def _count(of: Checked) -> Checked:
    _check_set(_COUNT, of)
    tree = {"function": _COUNT, "of": of.tree}
    return Checked("series", unit(str(UNIT.NUM)), tree, False, of.inputs)


def _check_set(function: str, of: Checked) -> None:
    if of.kind != "set":
        raise ExpressionError(f"{function} takes a set: {function}({{ pattern }})")
