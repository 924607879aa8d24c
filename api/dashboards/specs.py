"""Dashboards built from the graph, each kept as long as the twin stays the same."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import orjson
from anyio import to_thread

from api.dashboards.twin_state import TwinState, read_state
from core.errors import ApiError, GraphStoreError, NotFoundError
from core.settings.settings import Settings
from core.stores.errors import QueriesError
from core.stores.fuseki import GraphStore
from core.stores.results import read_rows
from dashboards.build import Answer, Batches, Question, build
from dashboards.catalogue import Definition, definition
from dashboards.errors import (
    DashboardError,
    UnknownDashboardError,
    UnknownHostError,
)
from dashboards.spec import Component, Dashboard, Panel
from ontology.iris import Iris

# How many queries of one dashboard the graph store works on at once.
_AT_ONCE = 4
_KEPT = 32
# What is written to the graph past `ingest` shows in no state: look after a while.
_LONGEST_S = 60.0
# A query that failed is tried again, but not with every request.
_FAILED_S = 3.0
# Requests for points follow closely on each other, and on the one for the dashboard.
_RECENT_S = 1.0
_MEDIA_TYPE = "application/sparql-results+json"
# What spoils one query of a dashboard, and not all of them.
_OF_ONE_QUERY = frozenset(
    ("syntax-error", "query-timeout", "graph-store-failed", "answer-too-large")
)


@dataclass(frozen=True)
class Spec:
    """A dashboard with what it was made from; ``made`` and ``seen`` by the clock."""

    dashboard: Dashboard
    state: TwinState
    made: float
    seen: list[float] = field(default_factory=list)

    @cached_property
    def body(self) -> bytes:
        """The dashboard as JSON."""
        return orjson.dumps(self.dashboard)

    @cached_property
    def panels(self) -> dict[str, Panel]:
        """All panels by id, in the order drawn."""
        found = (p for section in self.dashboard.sections for p in section.panels)
        return {panel.id: panel for panel in found}

    @cached_property
    def periods(self) -> dict[str, float]:
        """Seconds between two samples, by the metric's name in PCP."""
        return self.state.periods()

    @cached_property
    def longest(self) -> float:
        """Seconds after which it is made anew even if the twin seems the same."""
        failed = any(panel.problem for panel in self.panels.values())
        return _FAILED_S if failed else _LONGEST_S

    def component(self, id_: str) -> Component | None:
        """A choice of the component drop-down, None for ''; raises NotFoundError."""
        for component in self.dashboard.components:
            if component.id == id_:
                return component
        if not id_:
            return None
        known = ", ".join(found.id for found in self.dashboard.components[:10])
        detail = f"no component {id_[:80]!r}; known: {known or 'none'} …"
        raise NotFoundError("unknown-component", "Unknown component", detail)


class Specs:
    """Builds each dashboard once for each state of the twin."""

    def __init__(self, graph: GraphStore, iris: Iris, settings: Settings) -> None:
        self._graph, self._iris = graph, iris
        self._base, self._local = settings.base, settings.host
        self._kept: OrderedDict[tuple[str, str], Spec] = OrderedDict()
        self._locks: dict[tuple[str, str], asyncio.Lock] = {}

    async def state(self, host: str) -> TwinState:
        """The state of the twin now; raises GraphStoreError."""
        return await read_state(self._graph, self._iris, host)

    async def host(self, name: str, host: str | None) -> str:
        """The host that a dashboard is asked for: where none is named and it needs one,
        this machine, or the only one there is.

        Raises NotFoundError for an unknown dashboard, and 400 that names the hosts.
        """
        found = known(name)
        if host or not found.about_one_host:
            return host or ""
        names = (await self.state("")).names
        if self._local in names or len(names) == 1:
            return self._local if self._local in names else names[0]
        raise _host_needed(found, names)

    async def get(self, name: str, host: str) -> Spec:
        """The dashboard as the graph has it now.

        Raises NotFoundError for an unknown dashboard or host, and GraphStoreError.
        """
        known(name)
        state = await self.state(host)
        if host and host not in state.names:
            raise unknown_host(host, state.names)
        lock = self._locks.setdefault((name, host), asyncio.Lock())
        async with lock:
            return self._fresh(name, host, state) or await self._make(name, host)

    async def recent(self, name: str, host: str) -> Spec:
        """Like get, but a look at the twin may be a second old.

        While the graph store is away, the dashboard as it was last.
        """
        kept = self._kept.get((name, host))
        if kept and time.monotonic() - kept.seen[-1] < _RECENT_S:
            return kept
        try:
            return await self.get(name, host)
        except GraphStoreError:
            if kept:
                return kept
            raise

    def _fresh(self, name: str, host: str, state: TwinState) -> Spec | None:
        kept, now = self._kept.get((name, host)), time.monotonic()
        if kept is None or kept.state != state or now - kept.made > kept.longest:
            return None
        kept.seen[:] = [now]
        self._kept.move_to_end((name, host))
        return kept

    async def _make(self, name: str, host: str) -> Spec:
        """Build it; once more when the twin was replaced meanwhile."""
        state = await self.state(host)
        for _ in range(3):
            before = state
            dashboard = await self._built(name, host)
            state = await self.state(host)
            if state == before:
                break
        now = time.monotonic()
        spec = Spec(dashboard, before, now, [now])
        self._keep((name, host), spec)
        return spec

    def _keep(self, key: tuple[str, str], spec: Spec) -> None:
        self._kept[key] = spec
        self._kept.move_to_end(key)
        while len(self._kept) > _KEPT:
            gone, _ = self._kept.popitem(last=False)
            self._locks.pop(gone, None)

    async def _built(self, name: str, host: str) -> Dashboard:
        allowed = asyncio.Semaphore(_AT_ONCE)
        try:
            batches = build(name, host, self._base)
            asked, done = await to_thread.run_sync(_next, batches, None)
            while done is None:
                answers = await self._ask_all(asked, allowed)
                asked, done = await to_thread.run_sync(_next, batches, answers)
        except DashboardError as error:
            raise as_problem(error) from None
        return done

    async def _ask_all(
        self, questions: Sequence[Question], allowed: asyncio.Semaphore
    ) -> list[bytes | str]:
        async def ask(question: Question) -> bytes | str:
            async with allowed:
                return await self._ask(question)

        tasks = [asyncio.ensure_future(ask(question)) for question in questions]
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()

    async def _ask(self, question: Question) -> bytes | str:
        """The answer's body, or why this one query has none."""
        try:
            return await self._graph.query(question.sparql, _MEDIA_TYPE)
        except ApiError as error:
            if error.kind not in _OF_ONE_QUERY:
                raise
            return error.detail


def known(name: str) -> Definition:
    """The dashboard of a name; raises NotFoundError, which lists the known ones."""
    try:
        return definition(name)
    except DashboardError as error:
        raise as_problem(error) from None


def as_problem(error: DashboardError) -> ApiError:
    """An error of the dashboards as a client is told of it."""
    if isinstance(error, UnknownDashboardError):
        return NotFoundError("unknown-dashboard", "Unknown dashboard", str(error))
    if isinstance(error, UnknownHostError):
        return NotFoundError("unknown-host", "Unknown host", str(error))
    return ApiError(500, "broken-dashboard", "A dashboard is broken", str(error))


def unknown_host(host: str, names: Sequence[str]) -> NotFoundError:
    """404 for a host that is not in the twin, with those that are."""
    detail = f"no host {host[:80]!r}; known: {_listed(names)}"
    return NotFoundError("unknown-host", "Unknown host", detail)


def _host_needed(found: Definition, names: Sequence[str]) -> ApiError:
    detail = f"dashboard {found.name} is about one host: add ?host= {_listed(names)}"
    return ApiError(400, "host-needed", "Name a host", detail, hosts=list(names[:100]))


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:10]) + (" …" if len(names) > 10 else "")
    return shown or "none, run `supertwin ingest`"


def _next(
    batches: Batches, bodies: Sequence[bytes | str] | None
) -> tuple[list[Question], Dashboard | None]:
    """The next questions, or the dashboard; may take a while, as graphs are large."""
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
