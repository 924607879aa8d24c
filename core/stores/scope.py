"""What the caller of the API may see; the clients of both stores enforce it.

The scope of a request is in a context variable, so no route has to pass it on. Tasks
and `anyio.to_thread` inherit it; threads that are started in another way do not.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import astuple, dataclass, fields

from core.stores.errors import OutOfScopeError
from ontology.selectors import escaped, pattern, series_name

WILDCARD = ".*"
# Paths of control groups by host.
Groups = Mapping[str, Sequence[str]]
# VictoriaMetrics joins several by OR.
_FILTERS = "extra_filters[]"
_OF_GROUPS = '__name__=~"supertwin_cgroup_.*"'


@dataclass(frozen=True)
class Scope:
    """Names of what may be seen; a kind without names is not limited.

    ``metrics`` may end with ``.*``. All kinds that have names must hold.
    """

    hosts: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any(astuple(self))

    @property
    def is_owned(self) -> bool:
        """Whether only what belongs to some jobs or users may be seen."""
        return bool(self.jobs or self.users)

    def kinds(self) -> dict[str, list[str]]:
        """Return the names of each limited kind."""
        every = {one.name: list(getattr(self, one.name)) for one in fields(self)}
        return {kind: names for kind, names in every.items() if names}

    def allows_metric(self, name: str) -> bool:
        """Whether a metric, named as in PCP, may be seen."""
        return not self.metrics or any(
            name.startswith(one.removesuffix("*"))
            if one.endswith(WILDCARD)
            else name == one
            for one in self.metrics
        )

    def __str__(self) -> str:
        return "; ".join(f"{kind}: {', '.join(n)}" for kind, n in self.kinds().items())


@dataclass(frozen=True)
class _Limit:
    """The scope of a request, with what its enforcement needs."""

    scope: Scope = Scope()
    base: str = ""
    may_write: bool = False


_NO_LIMIT = _Limit(may_write=True)
_CURRENT: ContextVar[_Limit] = ContextVar("scope", default=_NO_LIMIT)


def current_scope() -> Scope:
    """Return the scope of this request; an empty one limits nothing."""
    return _CURRENT.get().scope


@contextmanager
def limited_to(scope: Scope, base: str) -> Iterator[None]:
    """Limit both stores to a scope; ``base`` begins the IRIs of instances."""
    with _set(_Limit(scope, base.rstrip("/"), may_write=not scope)):
        yield


@contextmanager
def for_changes() -> Iterator[None]:
    """Let work write the graph that was checked against the scope before.

    It reads the hosts of the scope as a whole: whether they can have a plan also
    depends on what the token does not see.
    """
    limit = _CURRENT.get()
    hosts = Scope(hosts=limit.scope.hosts)
    with _set(_Limit(hosts, limit.base, may_write=True)):
        yield


@contextmanager
def _set(limit: _Limit) -> Iterator[None]:
    token = _CURRENT.set(limit)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def query_parameters() -> tuple[tuple[str, str], ...]:
    """Return the parameters by which our extension of Fuseki limits a query."""
    limit = _CURRENT.get()
    if not limit.scope:
        return ()
    return (("scope", json.dumps({"base": limit.base, **limit.scope.kinds()})),)


def refuse_update() -> None:
    """Raise OutOfScopeError if the request is limited: it may not write the graph."""
    limit = _CURRENT.get()
    if not limit.may_write:
        raise OutOfScopeError(
            f"the token is limited ({limit.scope}) and may not change the graph: use "
            "a token without a scope"
        )


def series_filter(groups: Groups | None = None) -> dict[str, list[str]]:
    """Return the parameter by which VictoriaMetrics limits all selectors of a request.

    ``groups`` are the control groups that the scope shows. Without them, raises
    OutOfScopeError if only series of jobs or users may be seen: their labels do not
    tell whose they are.
    """
    scope = current_scope()
    if not scope.is_owned:
        hosts = [_label("hostname", scope.hosts)] if scope.hosts else []
        written = hosts + _metrics(scope)
        return {_FILTERS: [f"{{{','.join(written)}}}"]} if written else {}
    if groups is None:
        raise OutOfScopeError(
            f"the token is limited ({scope}), and this needs samples of whole hosts: "
            "use a token without jobs and users"
        )
    found = [
        [_label("hostname", [host]), _label("instname", paths), _OF_GROUPS]
        for host, paths in groups.items()
    ] or [[_label("__name__", ())]]
    return {_FILTERS: [f"{{{','.join(one + _metrics(scope))}}}" for one in found]}


def _label(name: str, values: Sequence[str]) -> str:
    """A matcher of these values; of nothing if there are none."""
    return f'{name}=~"{escaped(pattern(values))}"'


def _metrics(scope: Scope) -> list[str]:
    names = "|".join(map(_series_pattern, scope.metrics))
    return [f'__name__=~"{escaped(names)}"'] if names else []


def _series_pattern(metric: str) -> str:
    if metric.endswith(WILDCARD):
        return f"{series_name(metric.removesuffix('*'))}.*"
    return series_name(metric)
