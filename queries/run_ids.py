"""Runs in a parameter of a saved query: by IRI, by id, or as a group."""

from collections.abc import Mapping, Sequence

from ontology.iris import IdError, Iris, decode_id
from ontology.terms import ST
from queries.binding import RUN, Scalar
from queries.catalogue import SavedQuery
from queries.errors import ParameterError
from queries.terms import iri_term, text_term

Values = Mapping[str, Scalar | None]


def with_run_iris(
    saved: SavedQuery, iris: Iris, values: Values
) -> dict[str, Scalar | None]:
    """The given values, with the id of a run replaced by its IRI.

    Raises ParameterError for an invalid id.
    """
    runs = {name for name, param in saved.params.items() if param.type == RUN}
    return {
        name: _run_iri(iris, name, str(value)) if value and name in runs else value
        for name, value in values.items()
    }


def group_query(saved: SavedQuery, values: Values) -> str | None:
    """The query for the runs of the group that a value may name; None without one."""
    named = _named(saved, values)
    if named is None:
        return None
    group = text_term(_id(str(values[named])))
    return f"SELECT ?run {{ ?run {iri_term(ST.runGroup)} {group} }} ORDER BY ?run"


def bind_runs(saved: SavedQuery, values: Values, runs: Sequence[str]) -> str:
    """The SPARQL for each run of a group; without runs, for the named run.

    Raises ParameterError.
    """
    named = _named(saved, values)
    if named is None or not runs:
        return saved.bind(values)
    return saved.bind_each([{**values, named: run} for run in runs])


def _named(saved: SavedQuery, values: Values) -> str | None:
    names = (name for name, param in saved.params.items() if param.type == RUN)
    return next((name for name in names if values.get(name)), None)


def _run_iri(iris: Iris, name: str, value: str) -> str:
    if "/" in value:
        return value
    try:
        return str(iris.observation(value))
    except IdError as error:
        raise ParameterError(str(error), name) from None


def _id(iri: str) -> str:
    segment = iri.rpartition("/")[2]
    try:
        return decode_id(segment)
    except IdError:
        return segment
