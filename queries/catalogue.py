"""The saved queries: every ``queries/<group>/<name>.rq``, checked and ready to bind."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from queries.binding import Param, Scalar, serialise
from queries.errors import CatalogueError, ParameterError, UnknownQueryError
from queries.header import QueryHeader, parse_header
from queries.sparql_text import (
    ValuesRow,
    check_prefixes,
    projection,
    query_form,
    tokenise,
    values_rows,
)
from queries.tokens import SparqlToken

DEFAULT_FOLDER = Path(__file__).parent
# Characters of a value; no URL has room for more.
LONGEST_VALUE = 64 * 1024


@dataclass(frozen=True)
class SavedQuery:
    """A query with its documentation; ``text`` runs unchanged on any SPARQL client.

    ``dataset`` is the one that it queries, ``twin`` or ``history``. ``added``: it does
    not come with SuperTwin.
    """

    name: str
    title: str
    description: str
    params: dict[str, Param]
    returns: list[str]
    text: str
    form: str
    panels: tuple[Mapping[str, Any], ...] = ()
    row: ValuesRow | None = None
    dataset: str = "twin"
    added: bool = False

    def bind(self, values: Mapping[str, Scalar | None]) -> str:
        """The SPARQL with these values in its VALUES row, defaults for the others.

        None leaves a parameter open, whatever its default. Raises ParameterError.
        """
        return self.bind_each([values])

    def bind_each(self, several: Sequence[Mapping[str, Scalar | None]]) -> str:
        """The SPARQL with one VALUES row per set of values; needs at least one set.

        Raises ParameterError.
        """
        rows = [self._row(values) for values in several]
        if self.row is None:
            return self.text
        before, after = self.text[: self.row.start], self.text[self.row.end :]
        return f"{before}{' '.join(rows)}{after}"

    def _row(self, values: Mapping[str, Scalar | None]) -> str:
        unknown = [name for name in values if name not in self.params]
        if unknown:
            known = ", ".join(self.params) or "none"
            raise ParameterError(
                f"{self.name} has no parameter {unknown[0]!r}; it has: {known}"
            )
        for name, value in values.items():
            if isinstance(value, str) and len(value) > LONGEST_VALUE:
                problem = f"{len(value)} characters given, at most {LONGEST_VALUE} fit"
                raise ParameterError(problem, name)
        if self.row is None:
            return ""
        terms = (
            serialise(param, values.get(param.name, param.default))
            for param in _in_row_order(self.row, self.params)
        )
        return f"({' '.join(terms)})"


def load_catalogue(folder: Path | None = None) -> dict[str, SavedQuery]:
    """All saved queries below a folder (default: ours, cached), by name, sorted.

    Raises CatalogueError for the first wrong query, and for an empty folder.
    """
    return _default_catalogue() if folder is None else _load(folder)


def saved_query(name: str, folder: Path | None = None) -> SavedQuery:
    """One saved query by name; raises UnknownQueryError, which lists the known ones."""
    names = query_names(folder)
    if name not in names:
        known = ", ".join(names)
        raise UnknownQueryError(f"no saved query {name[:80]!r}; there are: {known}")
    return _own_query(name) if folder is None else _load_one(folder / f"{name}.rq")


def query_names(folder: Path | None = None) -> list[str]:
    """The names of all saved queries below a folder (default: ours), sorted.

    Raises CatalogueError for an empty folder.
    """
    return _own_names() if folder is None else [*map(_name, _paths(folder))]


@cache
def _own_names() -> list[str]:
    return query_names(DEFAULT_FOLDER)


@cache
def _own_query(name: str) -> SavedQuery:
    """One query alone: reading all of them takes a fifth of a second."""
    return _load_one(DEFAULT_FOLDER / f"{name}.rq")


@cache
def _default_catalogue() -> dict[str, SavedQuery]:
    return {name: _own_query(name) for name in _own_names()}


def _load(folder: Path) -> dict[str, SavedQuery]:
    return {_name(path): _load_one(path) for path in _paths(folder)}


def _paths(folder: Path) -> list[Path]:
    paths = sorted(folder.glob("*/*.rq"))
    if not paths:
        raise CatalogueError(
            f"{folder} holds no saved query <group>/<name>.rq: reinstall SuperTwin"
        )
    return paths


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def _load_one(path: Path) -> SavedQuery:
    try:
        return parse_query(_name(path), path.read_text("utf-8"))
    except (CatalogueError, UnicodeDecodeError) as error:
        raise CatalogueError(f"{path}: {error}") from error


def parse_query(name: str, text: str) -> SavedQuery:
    """One saved query from its text; raises CatalogueError."""
    header = parse_header(text)
    tokens = tokenise(text)
    check_prefixes(tokens)
    form = query_form(tokens)
    columns = projection(tokens) if form == "select" else []
    if header.returns != columns:
        raise CatalogueError(
            f"returns {header.returns} but projects {columns}: make them equal"
        )
    row = _parameter_row(header, tokens)
    return SavedQuery(
        name=name,
        title=header.title,
        description=header.description,
        params=header.params,
        returns=header.returns,
        text=text,
        form=form,
        panels=header.panels,
        row=row,
        dataset=header.dataset,
    )


def _parameter_row(header: QueryHeader, tokens: list[SparqlToken]) -> ValuesRow | None:
    """The only VALUES row with the parameters, found by its variables."""
    names = list(header.params)
    if not names:
        return None
    rows = [row for row in values_rows(tokens) if _param_names(row, names) is not None]
    if len(rows) != 1:
        wanted = " ".join(f"?{name}" for name in names)
        raise CatalogueError(
            f"needs exactly one 'VALUES ({wanted}) {{ (…) }}', has {len(rows)}"
        )
    _check_used(rows[0], tokens)
    _check_defaults(rows[0], header.params)
    return rows[0]


def _param_names(row: ValuesRow, names: list[str]) -> list[str] | None:
    """The parameter of each variable (``?cpu`` or ``?cpu0``), None if they differ."""
    found = [
        variable if variable in names else variable.removesuffix("0")
        for variable in row.variables
    ]
    return found if sorted(found) == sorted(names) else None


def _in_row_order(row: ValuesRow, params: Mapping[str, Param]) -> list[Param]:
    return [params[name] for name in _param_names(row, list(params)) or ()]


def _check_used(row: ValuesRow, tokens: list[SparqlToken]) -> None:
    for variable in row.variables:
        uses = [token for token in tokens if token.text[1:] == variable]
        if sum(token.kind == "variable" for token in uses) < 2:
            raise CatalogueError(
                f"never uses its parameter ?{variable}: use or remove it"
            )


def _check_defaults(row: ValuesRow, params: Mapping[str, Param]) -> None:
    expected = [serialise(p, p.default) for p in _in_row_order(row, params)]
    if list(row.terms) != expected:
        raise CatalogueError(
            f"VALUES row ({' '.join(row.terms)}) differs from the defaults of its "
            f"header ({' '.join(expected)})"
        )
