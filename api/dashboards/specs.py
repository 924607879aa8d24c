"""Builds dashboards from the graph, and keeps each until the twin changes."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import orjson
from anyio import to_thread

from api.dashboards.twin_state import TwinState, read_state
from core.errors import ApiError, NotFoundError, api_error
from core.settings.settings import Settings
from core.stores.errors import (
    AccountRefusedError,
    EndpointError,
    EndpointUnreachableError,
    QueriesError,
)
from core.stores.fuseki import GraphStore
from core.stores.results import read_rows
from core.stores.scope import Scope, current_scope
from core.stores.sparql_dataset import JSON_RESULTS
from dashboards.build import Answer, Batches, BoundQuery, build
from dashboards.catalogue import Definition, definition, load_dashboards
from dashboards.errors import DashboardError
from dashboards.spec import Component, Dashboard, Panel
from ontology.iris import Iris
from queries.added import QueryCatalogue
from queries.catalogue import SavedQuery
from queries.errors import HostNeededError, UnknownHostError

# How many queries of one dashboard the graph store runs at the same time.
_AT_ONCE = 4
_KEPT = 32
# Graph updates that bypass `ingest` do not change the state, so rebuild at times.
_LONGEST_S = 60.0
# Retry a failed query, but not with every request.
_FAILED_S = 3.0
# Requests for points quickly follow each other and the request for the dashboard.
_RECENT_S = 1.0

Key = tuple[str, str, Scope]


def _key(name: str, host: str) -> Key:
    return name, host, current_scope()


@dataclass(frozen=True)
class CachedDashboard:
    """A dashboard and what it was built from; ``made``, ``seen``: monotonic."""

    dashboard: Dashboard
    state: TwinState
    definition: Definition
    made: float
    seen: list[float] = field(default_factory=list)

    @cached_property
    def body(self) -> bytes:
        """The dashboard as JSON."""
        return orjson.dumps(self.dashboard)

    @cached_property
    def panels(self) -> dict[str, Panel]:
        """All panels by id, in drawing order."""
        found = (p for section in self.dashboard.sections for p in section.panels)
        return {panel.id: panel for panel in found}

    @cached_property
    def periods(self) -> dict[str, float]:
        """The seconds between two samples, by PCP metric name."""
        return self.state.periods()

    @cached_property
    def longest(self) -> float:
        """The seconds after which it is rebuilt even if the twin seems unchanged."""
        failed = any(panel.problem for panel in self.panels.values())
        return _FAILED_S if failed else _LONGEST_S

    def component(self, id_: str) -> Component | None:
        """Return a choice of the component menu, None for ''; raises NotFoundError."""
        for component in self.dashboard.components:
            if component.id == id_:
                return component
        if not id_:
            return None
        known = ", ".join(found.id for found in self.dashboard.components[:10])
        detail = f"no component {id_[:80]!r}; known: {known or 'none'} …"
        raise NotFoundError("unknown-component", "Unknown component", detail)


class DashboardCache:
    """Builds each dashboard once for each state of the twin and its saved queries.

    Callers with different scopes have different dashboards.
    """

    def __init__(
        self,
        graph: GraphStore,
        iris: Iris,
        settings: Settings,
        queries: QueryCatalogue,
    ) -> None:
        self._graph, self._iris = graph, iris
        self._base, self._local = settings.base, settings.host
        self._catalogue = queries
        self._queries: Mapping[str, SavedQuery] = {}
        self._definitions: Mapping[str, Definition] = {}
        self._kept: OrderedDict[Key, CachedDashboard] = OrderedDict()
        self._locks: dict[Key, asyncio.Lock] = {}

    def definitions(self) -> Mapping[str, Definition]:
        """Return all dashboards by name, as the saved queries define them now."""
        queries = self._catalogue.all()
        if queries is not self._queries:
            self._queries, self._definitions = queries, load_dashboards(queries)
        return self._definitions

    def definition(self, name: str) -> Definition:
        """Return one dashboard; raises NotFoundError, which lists others."""
        try:
            return definition(name, self.definitions())
        except DashboardError as error:
            raise as_problem(error) from None

    async def state(self, host: str) -> TwinState:
        """Read the current state of the twin; raises EndpointError."""
        return await read_state(self._graph, self._iris, host)

    async def host(self, name: str, host: str | None) -> str:
        """Return the host of a dashboard; by default this machine, or the only host.

        Empty if none is named and the dashboard needs none. Raises NotFoundError for an
        unknown dashboard, and 400 with the known hosts.
        """
        found = self.definition(name)
        if host or not found.about_one_host:
            return host or ""
        names = (await self.state("")).names
        if self._local in names or len(names) == 1:
            return self._local if self._local in names else names[0]
        raise _host_needed(found, names)

    async def get(self, name: str, host: str) -> CachedDashboard:
        """Return the dashboard for the current graph.

        Raises NotFoundError for an unknown dashboard or host, and EndpointError.
        """
        found = self.definition(name)
        state = await self.state(host)
        if host and host not in state.names:
            raise unknown_host(host, state.names)
        lock = self._locks.setdefault(_key(name, host), asyncio.Lock())
        async with lock:
            fresh = self._fresh(found, host, state)
            return fresh or await self._make(found, host)

    async def recent(self, name: str, host: str) -> CachedDashboard:
        """Like `get`, but the state of the twin may be a second old.

        If the graph store is unreachable, return the last dashboard.
        """
        kept = self._kept.get(_key(name, host))
        if kept and time.monotonic() - kept.seen[-1] < _RECENT_S:
            return kept
        try:
            return await self.get(name, host)
        except EndpointError:
            if kept:
                return kept
            raise

    def _fresh(
        self, found: Definition, host: str, state: TwinState
    ) -> CachedDashboard | None:
        kept, now = self._kept.get(_key(found.name, host)), time.monotonic()
        if kept is None or (kept.state, kept.definition) != (state, found):
            return None
        if now - kept.made > kept.longest:
            return None
        kept.seen[:] = [now]
        self._kept.move_to_end(_key(found.name, host))
        return kept

    async def _make(self, found: Definition, host: str) -> CachedDashboard:
        """Build it; up to three times if the twin was replaced in the meantime."""
        state = await self.state(host)
        for _ in range(3):
            before = state
            dashboard = await self._built(found, host)
            state = await self.state(host)
            if state == before:
                break
        now = time.monotonic()
        spec = CachedDashboard(dashboard, before, found, now, [now])
        self._keep(_key(found.name, host), spec)
        return spec

    def _keep(self, key: Key, spec: CachedDashboard) -> None:
        self._kept[key] = spec
        self._kept.move_to_end(key)
        while len(self._kept) > _KEPT:
            evicted, _ = self._kept.popitem(last=False)
            self._locks.pop(evicted, None)

    async def _built(self, found: Definition, host: str) -> Dashboard:
        allowed = asyncio.Semaphore(_AT_ONCE)
        try:
            batches = build(found.name, host, self._base, {found.name: found})
            batch, done = await to_thread.run_sync(_next, batches, None)
            while done is None:
                answers = await self._ask_all(batch, allowed)
                batch, done = await to_thread.run_sync(_next, batches, answers)
        except (DashboardError, UnknownHostError) as error:
            raise as_problem(error) from None
        return done

    async def _ask_all(
        self, questions: Sequence[BoundQuery], allowed: asyncio.Semaphore
    ) -> list[bytes | str]:
        async def ask(question: BoundQuery) -> bytes | str:
            async with allowed:
                return await self._ask(question)

        tasks = [asyncio.ensure_future(ask(question)) for question in questions]
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()

    async def _ask(self, question: BoundQuery) -> bytes | str:
        """Return the answer's body, or why this query failed."""
        try:
            return await self._graph.query(question.sparql, JSON_RESULTS)
        except (EndpointUnreachableError, AccountRefusedError):
            raise
        except EndpointError as error:
            return error.detail


def as_problem(error: DashboardError | UnknownHostError) -> ApiError:
    """Convert an error of a dashboard to an answer for the client."""
    return api_error(error, 500 if error.status > 500 else None)


def unknown_host(host: str, names: Sequence[str]) -> ApiError:
    """404 for a host that is not in the twin; names the known ones."""
    detail = f"no host {host[:80]!r}; known: {_listed(names)}"
    return api_error(UnknownHostError(detail))


def _host_needed(found: Definition, names: Sequence[str]) -> ApiError:
    detail = f"dashboard {found.name} is about one host: add ?host= {_listed(names)}"
    return api_error(HostNeededError(detail), hosts=list(names[:100]))


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:10]) + (" …" if len(names) > 10 else "")
    return shown or "none, run `supertwin ingest`"


def _next(
    batches: Batches, bodies: Sequence[bytes | str] | None
) -> tuple[list[BoundQuery], Dashboard | None]:
    """Return the next questions, or the dashboard; slow, because graphs are large."""
    try:
        if bodies is None:
            return next(batches), None
        return batches.send([_answer(body) for body in bodies]), None
    except StopIteration as end:
        return [], end.value


def _answer(body: bytes | str) -> Answer:
    if isinstance(body, str):
        return body
    try:
        return read_rows(body)
    except QueriesError as error:
        return str(error)
