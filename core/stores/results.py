"""SPARQL JSON results as rows of rdflib terms or of Python values.

rdflib is imported only where a term is needed: the import takes longer than a query.
"""

import csv
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import orjson

from core.stores.errors import EndpointError, IncompleteAnswerError, QuerySyntaxError

if TYPE_CHECKING:
    from rdflib import BNode, Literal, URIRef

    Term: TypeAlias = URIRef | BNode | Literal
else:
    Term = Any

# A literal may be longer than the default, 128 KiB.
csv.field_size_limit(2**31 - 1)

_XSD = "http://www.w3.org/2001/XMLSchema#"
# Datatypes with an obvious Python value; rdflib reads all others.
_PLAIN: Mapping[str, tuple[re.Pattern[str], Callable[[str], Any]]] = {
    f"{_XSD}string": (re.compile(r"[\s\S]*"), str),
    f"{_XSD}integer": (re.compile(r"[+-]?[0-9]{1,400}"), int),
    f"{_XSD}decimal": (re.compile(r"[+-]?[0-9]{1,400}(\.[0-9]{1,400})?"), Decimal),
    f"{_XSD}double": (re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?"), float),
    f"{_XSD}boolean": (re.compile("true|false"), "true".__eq__),
    f"{_XSD}dateTime": (re.compile(r"[0-9]{4}-.*"), datetime.fromisoformat),
}


@dataclass(frozen=True)
class Table:
    """The answer to a SELECT as Python values: text, numbers, booleans, times.

    An unbound value is None.
    """

    columns: list[str]
    rows: list[list[Any]]

    def values(self) -> list[list[Any]]:
        """Return the rows."""
        return self.rows

    def records(self) -> list[dict[str, Any]]:
        """Return each row as a dict by column."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True)
class TermRows:
    """The answer to a SELECT: each row has one term, or None, per column."""

    columns: list[str]
    rows: list[list[Term | None]]

    def values(self) -> list[list[Any]]:
        """Return the rows as Python values; an unbound one is None."""
        return [[_value(term) for term in row] for row in self.rows]

    def records(self) -> list[dict[str, Any]]:
        """Return each row as a dict by column."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.values()]


def read_rows(body: bytes) -> TermRows:
    """Read the rows of a SELECT.

    Raises IncompleteAnswerError for a broken body: a query that times out after its
    first rows answers 200 and ends in the middle.
    """
    document = _rows_document(body)
    columns = document["head"]["vars"]
    known: dict[tuple[str, ...], Term] = {}
    rows = [
        [_term(binding[name], known) if name in binding else None for name in columns]
        for binding in document["results"]["bindings"]
    ]
    return TermRows(columns, rows)


def read_table(body: bytes) -> Table:
    """Read the rows of a SELECT as Python values; raises what `read_rows` raises."""
    document = _rows_document(body)
    columns = document["head"]["vars"]
    rows = [
        [_python(binding[name]) if name in binding else None for name in columns]
        for binding in document["results"]["bindings"]
    ]
    return Table(columns, rows)


def read_texts(body: bytes) -> list[dict[str, str]]:
    """Read the rows of a SELECT in CSV as texts, without their types.

    Fuseki writes CSV faster than JSON, in a fifth of the bytes. An unbound value is an
    empty text.
    """
    return list(csv.DictReader(io.StringIO(body.decode(), newline="")))


def _python(binding: Mapping[str, str]) -> Any:
    if binding["type"] in ("uri", "bnode"):
        return binding["value"]
    datatype = binding.get("datatype", f"{_XSD}string")
    pattern, read = _PLAIN.get(datatype, (None, str))
    if pattern and pattern.fullmatch(binding["value"]):
        try:  # noqa: SIM105 (suppress takes as long as reading)
            return read(binding["value"])
        except ValueError:
            pass  # A day that no month has: rdflib keeps the text.
    return _value(_new_term(binding))


def _rows_document(body: bytes) -> dict[str, Any]:
    document = _load(body)
    if "results" not in document:
        raise QuerySyntaxError("the query answers true or false: write a SELECT")
    return document


def read_truth(body: bytes) -> bool:
    """Read the answer to an ASK; raises IncompleteAnswerError."""
    document = _load(body)
    if "boolean" not in document:
        raise QuerySyntaxError("the query answers rows: write an ASK")
    return bool(document["boolean"])


def _load(body: bytes) -> dict[str, Any]:
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise IncompleteAnswerError(
            "Fuseki ended its answer before it was complete; ask again"
        ) from error
    if not isinstance(document, dict) or "head" not in document:
        raise EndpointError(
            "the answer has no SPARQL results; is the address a SPARQL endpoint?"
        )
    return document


def _term(binding: Mapping[str, str], known: dict[tuple[str, ...], Term]) -> Term:
    key = tuple(binding.values())
    if key not in known:
        known[key] = _new_term(binding)
    return known[key]


@cache
def _classes() -> "tuple[type[URIRef], type[BNode], type[Literal]]":
    """Return the term classes, cached: importing them once per term is too slow."""
    from rdflib import BNode, Literal, URIRef

    return URIRef, BNode, Literal


def _new_term(binding: Mapping[str, str]) -> Term:
    iri, blank, literal = _classes()
    value = binding["value"]
    match binding["type"]:
        case "uri":
            return iri(value)
        case "bnode":
            return blank(value)
        case "literal" | "typed-literal":
            datatype = binding.get("datatype")
            return literal(
                value,
                lang=binding.get("xml:lang"),
                datatype=iri(datatype) if datatype else None,
                normalize=False,
            )
        case other:
            raise EndpointError(f"the answer has a term of unknown type {other!r}")


def _value(term: Term | None) -> Any:
    *_, literal = _classes()
    if isinstance(term, literal):
        value = term.toPython()
        return str(term) if isinstance(value, literal) else value
    return None if term is None else str(term)
