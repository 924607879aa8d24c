"""A saved query as a form: one field per parameter, each with its own error."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rdflib.namespace import RDFS

from core.errors import ApiError
from core.stores.fuseki import GraphStore
from ontology.iris import IdError, Iris
from ontology.terms import ST
from queries.binding import Param
from queries.catalogue import SavedQuery
from queries.errors import ParameterError
from queries.hosts import known_hosts
from queries.natural_order import natural
from queries.run_ids import with_run_iris
from queries.terms import iri_term

_MOST = 400
_TIMES = frozenset(("since", "until"))
_INPUTS = {"integer": "number", "number": "number"}


@dataclass(frozen=True)
class Option:
    """One choice of a field; the text of an empty value says what it means."""

    value: str
    text: str


@dataclass(frozen=True)
class FormField:
    """One input: ``select`` if the options are complete, else the type of the input.

    ``suggested`` options are only offered; other values are possible. A time is in UTC;
    the pages' script accepts it in the zone that the reader chose.
    """

    name: str
    input: str
    value: str
    description: str
    default: str = ""
    error: str = ""
    options: tuple[Option, ...] = ()
    suggested: tuple[Option, ...] = ()
    is_time: bool = False


def invalid_values(
    query: SavedQuery, iris: Iris, given: Mapping[str, str]
) -> dict[str, str]:
    """Return what is wrong with each invalid value, by parameter."""
    found = {}
    for name, value in given.items():
        try:
            query.bind(with_run_iris(query, iris, {name: value}))
        except ParameterError as error:
            found[name] = error.problem
    return found


async def fields(
    store: GraphStore,
    iris: Iris,
    params: Iterable[Param],
    given: Mapping[str, str],
    errors: Mapping[str, str],
) -> list[FormField]:
    """Return the fields of a form; without the graph store, with fewer choices."""
    parameters = list(params)
    kinds = {(param.name, param.type) for param in parameters}
    hosts = await host_names(store) if ("host", "string") in kinds else []
    parts = list[Option]()
    if any(type_ == "iri" for _, type_ in kinds):
        parts = await _components(store, iris, given.get("host", ""))
    return [
        _field(p, given.get(p.name, ""), errors.get(p.name, ""), hosts, parts)
        for p in parameters
    ]


def _field(
    param: Param,
    value: str,
    error: str,
    hosts: Sequence[str],
    parts: Sequence[Option],
) -> FormField:
    default = _text(param.default)
    options = _options(param, value, default, hosts)
    return FormField(
        name=param.name,
        input="select" if options else _INPUTS.get(param.type, "text"),
        value=value,
        description=param.description,
        default=default,
        error=error,
        options=options,
        suggested=tuple(parts) if param.type == "iri" else (),
        is_time=param.name in _TIMES,
    )


def _options(
    param: Param, value: str, default: str, hosts: Sequence[str]
) -> tuple[Option, ...]:
    choices: list[str] = [_text(one) for one in param.enum]
    if param.type == "boolean" and not choices:
        choices = ["true", "false"]
    if param.name == "host" and param.type == "string" and not choices:
        choices = list(hosts)
    if not choices:
        return ()
    none = f"{default} (default)" if default else "any"
    if value and value not in choices:
        choices.append(value)
    rest = [Option(one, one) for one in choices if one != default]
    return (Option("", none), *rest)


def _text(value: object) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


async def host_names(store: GraphStore) -> list[str]:
    """Return the names of all hosts in natural order; none without the graph store."""
    try:
        graph = await known_hosts(store)
    except ApiError:
        return []
    return sorted({str(name) for name in graph.objects(None, ST.hostname)}, key=natural)


async def _components(store: GraphStore, iris: Iris, host: str) -> list[Option]:
    """Return the components of a host, or the first ones of all hosts."""
    try:
        above = iri_term(iris.host(host)) if host else "?host"
        rows = await store.rows(
            f"SELECT ?s ?label {{ ?s {iri_term(ST.isPartOf)}+ {above} . "
            f"{above} {iri_term(ST.hostname)} ?name "
            f"OPTIONAL {{ ?s {iri_term(RDFS.label)} ?label }} }} LIMIT {_MOST}"
        )
    except (ApiError, IdError):
        return []
    found = [
        Option(row["s"].value, row["label"].value if "label" in row else "")
        for row in rows
    ]
    return sorted(found, key=lambda option: natural(option.value))
