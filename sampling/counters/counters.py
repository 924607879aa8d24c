"""The counters of a host's plans: its agent counts the events of all of them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from core.linux.signals import signals_as_interrupt
from core.settings.settings import Settings
from core.stores.datasets import Progress
from core.stores.endpoint import Endpoint
from ingest.sources.pcp import read_pcp
from ontology.iris import Iris
from queries.catalogue import saved_query
from sampling.agents.graph import only_agent, read_graph, restore_graph
from sampling.agents.perfevent import AGENT
from sampling.counters.perfevent import CountingSetup, prepare
from sampling.errors import PerfeventError
from sampling.events.event import PmuEvent
from sampling.plans.counters import (
    CounterPurpose,
    publish_counters,
    uncounted_metrics,
)
from sampling.plans.instances import GraphMetric, PlanMetric, sampled
from sampling.plans.request import PlanRequest

if TYPE_CHECKING:
    from ingest.schema.schema import Pcp


@dataclass(frozen=True)
class CounterRequest:
    """Roles and events of a plan, and whether they may share counters."""

    roles: frozenset[str]
    events: frozenset[str]
    shares: bool


@dataclass(frozen=True)
class PlannedCounters:
    """Why a new plan's metrics are sampled, and what all plans count together."""

    counts: dict[str, CounterPurpose]
    together: CountingSetup

    @property
    def remarks(self) -> list[str]:
        """Which counters are shared, and which requests of other plans are refused."""
        refusals = self.together.choice.refusals
        return [*self.together.remarks, *(f"not counted: {why}" for why in refusals)]


@contextmanager
def counting(
    settings: Settings, request: PlanRequest, twin: Endpoint, progress: Progress
) -> Iterator[dict[str, CounterPurpose]]:
    """Count the events of a new plan in addition to all others; yields its metrics.

    All or nothing: if the block fails, the previous counters are restored. Raises
    PerfeventError, with the reason, for what cannot be counted, and PlanRequestError
    for other faults. The request is checked first, since other plans notice when an
    agent is reconfigured.
    """
    if not (request.roles or request.events):
        yield {}
        return
    wanted = planned(request, twin)
    sampled_of(request, wanted, twin, Iris(settings.base))
    for line in wanted.remarks:
        progress(line)
    with _published(settings, request.host, wanted.together, twin, progress):
        yield wanted.counts


def planned(request: PlanRequest, twin: Endpoint) -> PlannedCounters:
    """Work out what an agent counts for a new plan and all others of its host.

    Changes nothing. Raises PerfeventError, with the reason, for what cannot be counted.
    """
    host = request.host
    named = prepare(twin, host, (), request.events, multiplex=True).checked().events
    own = prepare(twin, host, request.roles, request.events, multiplex=True).checked()
    plans = counter_requests(host, twin)
    plans[request.name] = CounterRequest(
        frozenset(request.roles), frozenset(map(str, named)), request.multiplex
    )
    return PlannedCounters(
        _counts(own, named), _together(twin, host, plans, request.name)
    )


def sampled_of(
    request: PlanRequest,
    found: PlannedCounters,
    twin: Endpoint,
    iris: Iris,
    foreseen: Sequence[GraphMetric] = (),
) -> list[PlanMetric]:
    """What a plan will sample, before its events count; raises PlanRequestError.

    ``foreseen`` are metrics that agents will give.
    """
    new = uncounted_metrics(found.counts, request.host, twin, iris) + [*foreseen]
    return sampled(request, iris.host(request.host), twin, foreseen=new)


def settle(settings: Settings, host: str, twin: Endpoint, progress: Progress) -> None:
    """Count the events of the remaining plans, after a plan was removed."""
    if read_graph(Iris(settings.base).counters_graph(host), twin):
        resume(settings, host, twin, progress)


def resume(settings: Settings, host: str, twin: Endpoint, progress: Progress) -> int:
    """Count the events of a host's plans; return the number of events."""
    plans = counter_requests(host, twin)
    left = _prepared(twin, host, plans, multiplex=True) if plans else None
    if left and not left.events:  # all of them are refused now
        left = None
    with _published(settings, host, left, twin, progress):
        return len(left.events) if left else 0


def end(settings: Settings, host: str, twin: Endpoint, progress: Progress) -> None:
    """Stop counting on a host that leaves the twin, regardless of its plans."""
    if read_graph(Iris(settings.base).counters_graph(host), twin):
        with _published(settings, host, None, twin, progress):
            pass


def counter_requests(host: str, twin: Endpoint) -> dict[str, CounterRequest]:
    """What each plan of a host counts, by the name of the plan."""
    rows = twin.select(saved_query("telemetry/plan-events").bind({"host": host}))
    found: dict[str, CounterRequest] = {}
    for _, plan, role, event, shares in rows.values():
        before = found.get(plan, CounterRequest(frozenset(), frozenset(), shares=False))
        found[plan] = CounterRequest(
            before.roles | {role} - {None},
            before.events | {event} - {None},
            before.shares or bool(shares),
        )
    return found


def _together(
    twin: Endpoint, host: str, plans: Mapping[str, CounterRequest], new: str
) -> CountingSetup:
    """Prepare all plans' events; counters are shared only if all plans allow it."""
    exact = [name for name, plan in sorted(plans.items()) if not plan.shares]
    try:
        return _prepared(twin, host, plans, multiplex=not exact)
    except PerfeventError as error:
        others = [name for name in exact if name != new]
        if new in exact or not others:
            raise
        raise PerfeventError(
            f"{error}; plans of {host} that do not share counters: "
            f"{', '.join(others)}; remove them, and add them again with --multiplex"
        ) from None


def _prepared(
    twin: Endpoint, host: str, plans: Mapping[str, CounterRequest], multiplex: bool
) -> CountingSetup:
    roles = sorted({role for plan in plans.values() for role in plan.roles})
    events = sorted({event for plan in plans.values() for event in plan.events})
    return prepare(twin, host, roles, events, multiplex)


def _counts(
    prepared: CountingSetup, named: Collection[PmuEvent]
) -> dict[str, CounterPurpose]:
    """What each metric of a plan is sampled for."""
    counts: dict[str, CounterPurpose] = {}
    for event in prepared.events:
        roles = [
            formula.role
            for formula in prepared.choice.roles
            if event in {one for _, one in formula.terms}
        ]
        asked_by_name = str(event) if event in named else ""
        why = CounterPurpose(
            event.pmu, event.name, event.kernel, tuple(roles), asked_by_name
        )
        counts |= {event.value: why, event.dutycycle: why}
    return counts


@contextmanager
def _published(
    settings: Settings,
    host: str,
    prepared: CountingSetup | None,
    twin: Endpoint,
    progress: Progress,
) -> Iterator[None]:
    """Set the counters of agent and graph; restore them if the block fails."""
    iris = Iris(settings.base)
    with _counted(settings, host, prepared, twin, progress) as (socket, socket_path):
        names = prepared.metrics if prepared else []
        pcp = _read_facts(socket, names) if names else None
        graph = iris.counters_graph(host)
        before = read_graph(graph, twin)
        publish_counters(host, pcp and only_agent(pcp, AGENT), socket_path, twin, iris)
        try:
            yield
        except BaseException:
            restore_graph(graph, before, twin)
            raise


def _read_facts(socket: Path, names: Sequence[str]) -> "Pcp":
    # Imported here because commands that count no event should start fast.
    from ingest.schema.schema import Pcp

    return Pcp.model_validate(read_pcp(address=f"unix://{socket}", names=names))


@contextmanager
def _counted(
    settings: Settings,
    host: str,
    prepared: CountingSetup | None,
    twin: Endpoint,
    progress: Progress,
) -> Iterator[tuple[Path, str]]:
    """Configure the agent of a host; yields PMCD's socket here, and on the host."""
    # Imported late: plans without roles and events need nothing that starts a PMCD.
    from sampling.agents.remote import running_remotely
    from sampling.counters.local import counting_locally

    with signals_as_interrupt():
        if host == settings.host:
            with counting_locally(settings, prepared, progress) as socket:
                yield socket, str(socket)
        else:
            with running_remotely(
                settings, host, AGENT, prepared, twin, progress
            ) as sockets:
                yield sockets
