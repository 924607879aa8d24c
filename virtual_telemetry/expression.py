"""The language of expressions: reads a text, and writes an expression as text."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import pyparsing as pp

from virtual_telemetry.errors import ExpressionError

LONGEST = 8 * 1024
MOST_PARTS = 250
_MOST_BRACES = 8
# The tokens of SPARQL that may hold a brace: a pattern that ended elsewhere for SPARQL
# could leave the conditions out that its query adds. So there are no comments,
# and no backslash outside of texts: SPARQL reads \u007D as a brace.
_NO_BRACE = (
    r'''"""(?:"{0,2}+(?:\\[^uU]|[^"\\]))*+"""|'''
    r"""'''(?:'{0,2}+(?:\\[^uU]|[^'\\]))*+'''|"""
    r""""(?:\\[^uU\n\r]|[^"\\\n\r])*+"|"""
    r"""'(?:\\[^uU\n\r]|[^'\\\n\r])*+'|"""
    r"""<[^<>"{}|^`\\\x00-\x20]*+>|[^{}"'#\\]"""
)
AGGREGATES = ("sum", "avg", "min", "max", "count")
OF_COUNTERS = ("rate", "increase")
OF_VALUES = ("derivative", "integral")
FUNCTIONS = (*OF_COUNTERS, *OF_VALUES, *AGGREGATES)


@dataclass(frozen=True)
class Number:
    """A number without a unit."""

    value: float

    def __str__(self) -> str:
        whole = self.value == int(self.value) and abs(self.value) < 1e15
        return str(int(self.value)) if whole else repr(self.value)


@dataclass(frozen=True)
class Input:
    """Telemetry by its IRI, which may be relative to the base of the twin."""

    iri: str

    def __str__(self) -> str:
        return f"<{self.iri}>"


@dataclass(frozen=True)
class Pattern:
    """A set of telemetry: what a graph pattern binds to ``?telemetry``."""

    text: str

    def __str__(self) -> str:
        return f"{{ {self.text} }}"


@dataclass(frozen=True)
class Operation:
    """Two expressions with one of ``+ - * /`` between them."""

    operator: str
    left: "Expression"
    right: "Expression"

    def __str__(self) -> str:
        return f"({self.left} {self.operator} {self.right})"


@dataclass(frozen=True)
class Call:
    """One of FUNCTIONS of an expression."""

    function: str
    of: "Expression"

    def __str__(self) -> str:
        return f"{self.function}({self.of})"


@dataclass(frozen=True)
class Conversion:
    """An expression in a unit: its local name in QUDT."""

    of: "Expression"
    unit: str

    def __str__(self) -> str:
        return f"in({self.of}, unit:{self.unit})"


Expression = Number | Input | Pattern | Operation | Call | Conversion


def parse(text: str) -> Expression:
    """Read an expression; raises ExpressionError with the place of the fault."""
    if len(text.encode()) > LONGEST:
        raise ExpressionError(f"the expression has more than {LONGEST} bytes")
    try:
        found: Expression = _GRAMMAR.parse_string(text, parse_all=True)[0]
        size = _size(found)
    except pp.ParseBaseException as error:
        raise ExpressionError(_explained(text, error.loc)) from None
    except RecursionError:
        raise ExpressionError("the expression is nested too deeply") from None
    if size > MOST_PARTS:
        raise ExpressionError(
            f"the expression has {size} parts, at most {MOST_PARTS} are allowed: use a "
            "set, such as sum({ … })"
        )
    return found


def inputs_of(expression: Expression) -> Iterator[str]:
    """Yield the IRIs of the inputs of a sum or product, in order."""
    match expression:
        case Input(iri):
            yield iri
        case Operation(_, left, right):
            yield from (*inputs_of(left), *inputs_of(right))


def _size(expression: Expression) -> int:
    match expression:
        case Operation(_, left, right):
            return 1 + _size(left) + _size(right)
        case Call(_, of) | Conversion(of, _):
            return 1 + _size(of)
    return 1


def _explained(text: str, place: int) -> str:
    rest = " ".join(text[place : place + 40].split())
    where = f"at character {place + 1}, {rest!r}" if rest else "at the end"
    return (
        f"the expression cannot be read {where}: expected a number, <IRI>, a function "
        f"({', '.join(FUNCTIONS)}, in), {{ pattern }} inside a function, or one of "
        "+ - * / ( )"
    )


def _number(text: str, place: int, tokens: pp.ParseResults) -> Number:
    value = float(tokens[0])
    if math.isinf(value):
        raise pp.ParseFatalException(text, place)
    return Number(value)


def _negative(tokens: pp.ParseResults) -> Expression:
    of: Expression = tokens[0]
    if isinstance(of, Number):
        return Number(-of.value)
    return Operation("*", Number(-1.0), of)


def _left_to_right(tokens: pp.ParseResults) -> Expression:
    found: Expression = tokens[0]
    for place in range(1, len(tokens), 2):
        found = Operation(tokens[place], found, tokens[place + 1])
    return found


def _pattern(tokens: pp.ParseResults) -> Pattern:
    return Pattern(tokens[0][1:-1].strip())


def _braces(depth: int) -> str:
    """A regular expression of braces in braces; texts and IRIs may hold any brace."""
    inner = f"|{_braces(depth - 1)}" if depth > 1 else ""
    return rf"\{{(?:{_NO_BRACE}{inner})*+\}}"


def _grammar() -> pp.ParserElement:
    expression, factor = pp.Forward(), pp.Forward()
    opened, closed, comma = map(pp.Suppress, "(),")
    iri = pp.Regex(r"<([^<>\"{}|^`\\\x00-\x20]*)>")
    pattern = pp.Regex(_braces(_MOST_BRACES))
    number = pp.Regex(r"(\d{1,30}(\.\d{1,30})?|\.\d{1,30})([eE][+-]?\d{1,3})?")
    unit = pp.Suppress("unit:") + pp.Regex(r"[A-Za-z][A-Za-z0-9_-]*")
    of = opened + expression
    call = pp.one_of(FUNCTIONS, as_keyword=True) + of + closed
    conversion = pp.Suppress(pp.Keyword("in")) + of + comma + unit + closed
    primary = (
        number.set_parse_action(_number)
        | iri.set_parse_action(lambda tokens: Input(tokens[0][1:-1]))
        | pattern.set_parse_action(_pattern)
        | call.set_parse_action(lambda tokens: Call(*tokens))
        | conversion.set_parse_action(lambda tokens: Conversion(*tokens))
        | (of + closed)
    )
    factor <<= (pp.Suppress("-") + factor).set_parse_action(_negative) | primary
    term = factor + pp.ZeroOrMore(pp.one_of("* /") + factor)
    terms = term.set_parse_action(_left_to_right)
    expression <<= (terms + pp.ZeroOrMore(pp.one_of("+ -") + terms)).set_parse_action(
        _left_to_right
    )
    return expression


_GRAMMAR = _grammar()
