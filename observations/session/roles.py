"""Reads the formulas of a run's roles and figures on its host from the graph."""

from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

from core.stores.endpoint import Endpoint
from observations.derived import (
    FIGURES,
    ROLES,
    ExpressionFigure,
    Figure,
    HostRole,
    WeightedEvent,
)
from observations.errors import UnknownFigureError
from observations.record import RunSpec
from queries.run import saved_rows
from sampling.counters import counters
from sampling.errors import PerfeventError
from sampling.events.choice import RoleFormula, choose
from sampling.events.event import is_counter
from sampling.events.host import HostPmus, read_host, read_role
from virtual_telemetry.expression import parse

_THREAD = "thread"
# A processor may have hundreds of imported figures, and parsing takes most of the time.
_parsed = lru_cache(maxsize=8192)(parse)


def read_roles(
    twin: Endpoint, spec: RunSpec, plan: str, metrics: Collection[str]
) -> list[HostRole]:
    """Return the roles that a plan requests, and others whose events it samples."""
    if not any(map(is_counter, metrics)):
        return []
    planned = counters.counter_requests(spec.host, twin).get(plan)
    return read_named_roles(
        twin, spec, sorted(planned.roles if planned else ()), metrics
    )


def read_named_roles(
    twin: Endpoint, spec: RunSpec, named: Collection[str], metrics: Collection[str]
) -> list[HostRole]:
    """Return these roles, and others whose events are among the metrics."""
    try:
        return list(_roles(twin, spec, named, metrics))
    except PerfeventError as error:
        return [HostRole(name, reason=str(error)) for name in named]


def read_figures(twin: Endpoint, host: str) -> list[ExpressionFigure]:
    """Return the figures that follow from roles on the processor of a host.

    The formulas of different kinds of cores cannot be applied to their sum.
    """
    rows = saved_rows(twin, "pmu/figures", {"host": host})
    if len({row["pmu"] for row in rows}) > 1:
        return []
    return [
        ExpressionFigure(
            row["figure"],
            _parsed(row["expression"]),
            (row["unit"] or "").rpartition("/")[2],
            row["group"] or "",
        )
        for row in rows
    ]


def roles_of_figures(twin: Endpoint, host: str, named: Iterable[str]) -> list[str]:
    """Return the roles of figures, or of all figures of a group of events, on a host.

    Raises UnknownFigureError.
    """
    known: list[Figure | ExpressionFigure] = [*FIGURES, *read_figures(twin, host)]
    found: dict[str, None] = {}
    for name in named:
        figures = [one for one in known if name and name in (one.name, one.group)]
        if not figures:
            raise UnknownFigureError(
                f"{host} has no figure {name[:80]!r}: `supertwin query pmu/figures "
                f"--host {host}` lists those of its processor"
            )
        found |= dict.fromkeys(role for one in figures for role in one.roles)
    return list(found)


def _roles(
    twin: Endpoint, spec: RunSpec, named: Collection[str], metrics: Collection[str]
) -> Iterator[HostRole]:
    host = read_host(twin, spec.host)
    # There may be hundreds of imported figures: their roles must be named.
    own = [figure for figure in read_figures(twin, spec.host) if not figure.group]
    follow = (role for figure in own for role in figure.roles)
    names = dict.fromkeys((*named, *ROLES, *follow))
    terms = {name: read_role(twin, spec.host, name) for name in names}
    choice = choose(host, terms, (), lambda *_: ())
    found = {one.role: _role(host, one, spec.cpus) for one in choice.roles}
    counted = {name for name, role in found.items() if role.metrics <= {*metrics}}
    counted |= {*named}
    complete = (figure for figure in own if counted >= {*figure.roles})
    wanted = {*named, *ROLES, *(role for figure in complete for role in figure.roles)}
    for name in names:
        if name in wanted & counted:
            yield found.get(name) or HostRole(name, reason=choice.refused[name])


def _role(host: HostPmus, formula: RoleFormula, cpus: Collection[int]) -> HostRole:
    """Build a role; events of threads are summed over the CPUs of the run."""
    places = {place.cpu for place in host.places.get(formula.scope, ())}
    if formula.scope != _THREAD and any(event.kernel for _, event in formula.terms):
        places = set()  # the kernel chooses the CPUs that count
    chosen = cpus if formula.scope == _THREAD else places
    terms = (
        WeightedEvent(str(event), weight, event.value, event.dutycycle)
        for weight, event in formula.terms
    )
    instances = frozenset(f"cpu{cpu}" for cpu in chosen) or None
    return HostRole(
        formula.role, formula.unit, tuple(terms), instances, apart=formula.apart
    )
