"""Adds and removes plans of a host while the bridge samples, for CLI and API."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from core.errors import SuperTwinError
from core.settings.settings import Settings
from core.stores.datasets import Progress, dataset, writing
from core.stores.endpoint import Endpoint
from core.stores.results import TermRows
from ontology.iris import Iris
from queries.catalogue import saved_query
from sampling.agents import running
from sampling.agents.known import agent_of
from sampling.counters import counters
from sampling.plan_file.notify import PlanName, notify
from sampling.plans.instances import PlanMetric
from sampling.plans.request import PlanRequest
from sampling.plans.store import (
    add_plan,
    check_host,
    check_new,
    free_name,
    plan_names,
    remove_plan,
)
from sampling.slower_sources import notes, slower_sources


@dataclass(frozen=True)
class AddedPlan:
    """A plan that was written; ``noticed`` says whether a bridge was notified.

    ``slower_sources``: seconds between two updates of metrics that are sampled faster
    than their sources update them.
    """

    name: str
    metrics: list[PlanMetric]
    noticed: bool
    slower_sources: Mapping[str, float]


def add(
    settings: Settings,
    request: PlanRequest,
    progress: Progress,
    *,
    host_is_known: bool = False,
) -> AddedPlan:
    """Write a plan, under the first free name if it has none, and notify the bridge.

    Roles and events are counted from then on. Raises PlanRequestError, or
    PerfeventError for counters, if that is impossible; nothing is changed then. With
    ``host_is_known``, it is not checked whether the host has a twin.
    """
    iris = Iris(settings.base)
    with dataset(settings, "twin") as twin:
        if not host_is_known:
            check_host(request.host, twin, iris)
        with writing(settings, request.host, progress):
            if not request.name:
                name = free_name(plan_names(request.host, twin))
                request = replace(request, name=name)
            if request.roles or request.events or any(map(agent_of, request.metrics)):
                # Check before anything is started.
                check_new(request, twin, iris)
            with (
                running.agents_for(
                    settings,
                    request.host,
                    request.metrics,
                    request.period_ms,
                    twin,
                    progress,
                ),
                counters.counting(settings, request, twin, progress) as counts,
            ):
                metrics = add_plan(request, twin, iris, counts)
        noticed = _notify(settings, request.host, request.name)
        slower = slower_sources(settings, twin, request.host, request.name)
    for note in notes(slower, request.period_ms):
        progress(note)
    return AddedPlan(request.name, metrics, noticed, slower)


def remove(
    settings: Settings,
    host: str,
    name: str,
    progress: Progress,
    *,
    host_is_known: bool = False,
) -> None:
    """Remove a plan and the counters that only it needed, and notify the bridge.

    Raises PlanRequestError. With ``host_is_known``, it is not checked whether the host
    has a twin.
    """
    iris = Iris(settings.base)
    with dataset(settings, "twin") as twin:
        if not host_is_known:
            check_host(host, twin, iris)
        with (
            writing(settings, host, progress),
            freeing(settings, host, (name,), twin, progress),
        ):
            remove_plan(host, name, twin, iris)
            _notify(settings, host, name)


@contextmanager
def freeing(
    settings: Settings,
    host: str,
    plans: Iterable[str],
    twin: Endpoint,
    progress: Progress,
) -> Iterator[None]:
    """Free the counters and agents of plans that end in the block.

    The plans end even if that fails; ``progress`` then gets the reason.
    """
    counted = counters.counter_requests(host, twin)
    agents = running.running(host, twin)
    yield
    _settle_agents(settings, host, agents, twin, progress)
    if counted.keys().isdisjoint(plans):
        return
    try:
        counters.settle(settings, host, twin, progress)
    except SuperTwinError as error:
        progress(
            f"the perfevent agent of {host} still counts the events of removed plans "
            f"({error}): run `supertwin perfevent resume --host {host}`"
        )


def _settle_agents(
    settings: Settings,
    host: str,
    agents: Iterable[str],
    twin: Endpoint,
    progress: Progress,
) -> None:
    try:
        running.settle(settings, host, sorted(agents), twin, progress)
    except SuperTwinError as error:
        progress(
            f"agents of {host} still run for removed plans ({error}): run `supertwin "
            f"agent resume --host {host}`"
        )


def resume_agents(settings: Settings, host: str, progress: Progress) -> Collection[str]:
    """Run the agents of a host's plans again; return their names.

    Raises PlanRequestError, AgentRefusedError and RemoteError.
    """
    with dataset(settings, "twin") as twin:
        check_host(host, twin, Iris(settings.base))
        with writing(settings, host, progress):
            return running.resume(settings, host, twin, progress)


def resume(settings: Settings, host: str, progress: Progress) -> int:
    """Let the agent of a host count its plans' events; return the number of events.

    Raises PlanRequestError, PerfeventError and RemoteError.
    """
    iris = Iris(settings.base)
    with dataset(settings, "twin") as twin:
        check_host(host, twin, iris)
        with writing(settings, host, progress):
            return counters.resume(settings, host, twin, progress)


def listed(settings: Settings, host: str) -> TermRows:
    """The plans of a host; raises PlanRequestError."""
    iris = Iris(settings.base)
    with dataset(settings, "twin") as twin:
        check_host(host, twin, iris)
        return twin.select(saved_query("telemetry/plans").bind({"host": host}))


def _notify(settings: Settings, host: str, name: str) -> bool:
    return notify(settings.home / "bridge", PlanName(host, name))
