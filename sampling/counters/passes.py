"""Plans the passes of a run: what is counted in each of them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from core.stores.endpoint import Endpoint
from sampling.counters.counters import counter_requests
from sampling.counters.perfevent import encode
from sampling.errors import PerfeventError
from sampling.events.choice import EventSelection, SelectedEvent, choose
from sampling.events.host import HostPmus, RoleTerm, read_host, read_role
from sampling.events.passes import CountingPass, EventGroup, group_events

# Counted in each pass to see whether the passes did the same.
COMMON_ROLE, COMMON_EVENT = "Instructions", "software::page-faults"


@dataclass(frozen=True)
class PassPlan:
    """Passes, and an event that is counted in all of them; empty if there is none."""

    passes: tuple[CountingPass, ...]
    common: str = ""


def plan_passes(
    twin: Endpoint,
    host: str,
    roles: Collection[str],
    events: Collection[str],
    most: int | None = None,
) -> PassPlan:
    """Group roles and events by the counters that other plans of a host leave.

    ``most``: the greatest number of events of a pass, without the common one. Raises
    PerfeventError, with the reason, for what cannot be counted, and QueriesError.
    """
    known = read_host(twin, host)
    terms = {role: read_role(twin, host, role) for role in dict.fromkeys(roles)}
    choice = choose(known, terms, dict.fromkeys(events), encode)
    if choice.refused:
        raise PerfeventError("; ".join(choice.refusals))
    common_terms = {COMMON_ROLE: read_role(twin, host, COMMON_ROLE)}
    return passes_of(known, choice, common_terms, _taken(twin, known), most)


def passes_of(
    host: HostPmus,
    choice: EventSelection,
    common_terms: Mapping[str, list[RoleTerm]],
    taken: Collection[SelectedEvent] = (),
    most: int | None = None,
) -> PassPlan:
    """Group events; each pass counts instructions, too, if that costs no more passes.

    Otherwise each pass counts page faults, which need no counter.
    """
    plain = group_events(host, choice, taken, (), most)
    counted = choose(host, common_terms, (), encode)
    if counted.roles:
        groups = _try(host, choice, taken, counted.counted, most)
        if len(groups) == len(plain):
            common = ", ".join(str(one.event) for one in counted.counted)
            return PassPlan(_passes(groups, COMMON_ROLE), common)
    if "software" in host.devices:
        return PassPlan(_passes(plain, event=COMMON_EVENT), COMMON_EVENT)
    return PassPlan(_passes(plain))


def _try(
    host: HostPmus,
    choice: EventSelection,
    taken: Collection[SelectedEvent],
    common: Collection[SelectedEvent],
    most: int | None,
) -> list[EventGroup]:
    try:
        return group_events(host, choice, taken, common, most)
    except PerfeventError:  # no counter is left for the common event
        return []


def _passes(
    groups: Collection[EventGroup], role: str = "", event: str = ""
) -> tuple[CountingPass, ...]:
    """Name what each pass counts, with a role or an event that is common to all."""
    return tuple(
        CountingPass(
            tuple(dict.fromkeys(filter(None, (*group.roles, role)))),
            tuple(dict.fromkeys(filter(None, (*map(str, group.events), event)))),
        )
        for group in groups
    )


def _taken(twin: Endpoint, host: HostPmus) -> tuple[SelectedEvent, ...]:
    """What the other plans of a host count."""
    plans = counter_requests(host.host, twin).values()
    roles = sorted({role for plan in plans for role in plan.roles})
    events = sorted({event for plan in plans for event in plan.events})
    terms = {role: read_role(twin, host.host, role) for role in roles}
    return choose(host, terms, events, encode).counted
