"""The saved queries as pages: a list by folder, and a form with its results."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

import orjson
from fastapi import Request, Response
from rdflib import Graph
from rdflib.namespace import XSD

from api import formats
from api.query_text import check_host, query_text
from api.services import Services
from api.sparql import run
from api.sparql_request import SparqlRequest
from api.web import pages
from api.web.pages import Links, RenderedTerm
from api.web.query_form import fields, invalid_values
from core.errors import ApiError
from core.stores.fuseki import Binding, read_binding
from ontology.figures import figures, one_line
from queries.catalogue import SavedQuery
from queries.natural_order import hosts_in_order
from queries.terms import term

_MAX_ROWS = 1000
_NUMBERS = {
    str(kind) for kind in (XSD.integer, XSD.decimal, XSD.double, XSD.float, XSD.int)
}
_FRACTIONS = {str(kind) for kind in (XSD.decimal, XSD.double, XSD.float)}
_DIGITS = 6
_TRIPLES = ("construct", "describe")


@dataclass(frozen=True)
class QueryResult:
    """The result of a query: a table of at most 1,000 rows, or one text."""

    columns: tuple[str, ...] = ()
    numeric: frozenset[str] = frozenset()
    rows: tuple[tuple[RenderedTerm | None, ...], ...] = ()
    total: int = 0
    text: str = ""


def list_page(
    request: Request,
    base: str,
    found: Mapping[str, SavedQuery],
    problems: Mapping[str, str],
) -> Response:
    """Return every saved query, grouped by its folder, and the files that are wrong."""
    by_folder = groupby(found.values(), key=lambda query: query.name.partition("/")[0])
    groups = [(folder, list(queries)) for folder, queries in by_folder]
    return pages.page(
        "queries.html",
        request,
        base,
        title="Saved queries",
        groups=groups,
        problems=problems,
    )


async def results_page(
    request: Request,
    services: Services,
    query: SavedQuery,
    pairs: Sequence[tuple[str, str]],
    version: int | None,
) -> Response:
    """Return the form of a query and its result; an invalid value gives 400.

    ``version`` is that of an added query, None for the current text.
    """
    given = {name: value for name, value in pairs if value or name not in query.params}
    errors = invalid_values(query, services.iris, given) | _repeated(pairs)
    answer, problem, status, text = (
        QueryResult(),
        "",
        400 if errors else 200,
        query.text,
    )
    if not errors:
        try:
            text = await query_text(services, query, given)
            await check_host(services, query, given)
            answer = await _answer(request, services, query, text)
        except ApiError as error:
            problem, status = error.detail, error.status
    known = query.params.values()
    form = await fields(services.graph, services.iris, known, given, errors)
    return pages.page(
        "results.html",
        request,
        services.settings.base,
        status=status,
        title=query.title,
        query=query,
        fields=form,
        stray={name: e for name, e in errors.items() if name not in query.params},
        answer=answer,
        answered=not errors and not problem,
        problem=problem,
        text=_without_header(text),
        version=version,
        bound="" if errors else _bound(given, version),
        endings=_endings(query),
    )


def _bound(given: Mapping[str, str], version: int | None) -> str:
    chosen = {**given, **({"version": version} if version else {})}
    return f"?{urlencode(chosen)}" if chosen else ""


def _without_header(text: str) -> str:
    """Return the SPARQL alone: the page shows the header in words."""
    lines = (line for line in text.splitlines() if not line.startswith("#+"))
    return "\n".join(lines).strip() + "\n"


def _repeated(pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    names = [name for name, _ in pairs]
    return {name: "given more than once" for name in names if names.count(name) > 1}


def _endings(query: SavedQuery) -> tuple[tuple[str, str], ...]:
    """Return the formats that the answer is available in: suffix and name."""
    if query.form in _TRIPLES:
        return ("ttl", "Turtle"), ("jsonld", "JSON-LD")
    table = (("csv", "CSV"), ("json", "JSON"))
    return (*table, ("jsonld", "JSON-LD")) if query.form == "select" else table


async def _answer(
    request: Request, services: Services, query: SavedQuery, text: str
) -> QueryResult:
    asked = SparqlRequest(text, dataset=query.dataset)
    if query.form in _TRIPLES:
        body = await run(request, services, asked, formats.TURTLE)
        return QueryResult(text=body.decode(errors="replace"))
    body = await run(request, services, asked, formats.RESULTS_JSON)
    document = orjson.loads(body)
    if "boolean" in document:
        return QueryResult(text="yes" if document["boolean"] else "no")
    made = pages.links(request, services.settings.base)
    rows = hosts_in_order(query, document["results"]["bindings"], _value)
    return _table(rows, query.returns, made)


def _value(row: Mapping[str, Any], column: str) -> str:
    return str(row[column]["value"]) if column in row else ""


def _table(
    found: Sequence[Mapping[str, Any]], columns: Sequence[str], links: Links
) -> QueryResult:
    shown = [
        {name: read_binding(value) for name, value in row.items()}
        for row in found[:_MAX_ROWS]
    ]
    return QueryResult(
        columns=tuple(columns),
        numeric=frozenset(name for name in columns if _is_numeric(shown, name)),
        rows=tuple(_row(row, columns, links) for row in shown),
        total=len(found),
    )


def _is_numeric(rows: Sequence[Mapping[str, Binding]], column: str) -> bool:
    known = [row[column] for row in rows if column in row]
    return bool(known) and all(value.datatype in _NUMBERS for value in known)


def _row(
    row: Mapping[str, Binding], columns: Sequence[str], links: Links
) -> tuple[RenderedTerm | None, ...]:
    return tuple(
        _cell(name, row[name], links) if name in row else None for name in columns
    )


def _cell(column: str, value: Binding, links: Links) -> RenderedTerm:
    """Show a fraction with six digits, a command in a line; their titles have all."""
    found = term(value)
    if column == "command":
        return RenderedTerm(one_line(str(found)), title=str(found))
    if value.datatype in _FRACTIONS:
        with suppress(ArithmeticError):
            return RenderedTerm(figures(Decimal(str(found)), _DIGITS), title=str(found))
    return links.shown(found, Graph())
