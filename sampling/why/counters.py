"""Why a role or a PMU event has data or not: formula, counters, series."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from anyio import to_thread

from core.stores.clients import Clients
from ingest.errors import ProbeSourceError
from ingest.pmu.pfm import read_events
from ontology.figures import figures
from queries.catalogue import saved_query
from queries.diagnosis import Finding
from queries.errors import ParameterError
from sampling.errors import PerfeventError
from sampling.events.choice import EventSelection, choose
from sampling.events.host import HOST_QUERIES, ROLE_QUERY, Row, host_of, role_terms
from sampling.why.verdict import Evidence, judge

NOT_HERE = "counter not on this PMU"

Look = Callable[[str], Awaitable[Evidence]]


def may_be_counted(name: str) -> bool:
    """Whether a name may be that of a role or an event; PCP's metrics have a dot."""
    return "::" in name or "." not in name


async def choice_of(clients: Clients, host: str, name: str) -> EventSelection | None:
    """What measures a role or counts an event; None if the name is neither."""
    terms = role_terms(await _rows(clients, ROLE_QUERY, host=host, role=name))
    if not terms and "::" not in name:
        return None
    answers = await asyncio.gather(
        *(_rows(clients, query, host=host) for query in HOST_QUERIES)
    )
    try:
        known = host_of(host, dict(zip(HOST_QUERIES, answers, strict=True)))
        roles, events = ({name: terms}, ()) if terms else ({}, (name,))
        return await to_thread.run_sync(choose, known, roles, events, _encode)
    except (PerfeventError, ProbeSourceError) as error:
        return EventSelection(host, refused={name: str(error)})


async def judge_counters(
    choice: EventSelection, name: str, look: Look
) -> tuple[Finding, list[Evidence]]:
    """The first explanation, and the evidence about each event's values."""
    if choice.refused:
        return Finding(NOT_HERE, choice.refused[name]), []
    metrics = [one.event.value for one in choice.counted]
    found = list(await asyncio.gather(*map(look, metrics)))
    return _unplanned(choice.host, name, found) or _first(found), found


def _unplanned(host: str, name: str, found: Sequence[Evidence]) -> Finding | None:
    missing = [one for one in found if not one.known.plans]
    if not missing:
        return None
    option = "--event" if "::" in name else "--role"
    fix = f"`supertwin sample add --host {host} {option} {name} --period 1s`"
    ages = [one.sample.age for one in missing if one.sample]
    if ages:
        age = figures(min(ages))
        reason = f"no plan samples {name!r} any more; its last value is {age} s old"
        return Finding("plan removed", f"{reason}: {fix}")
    return Finding("not planned", f"no plan samples {name!r} on {host!r}: {fix}")


def _first(found: Sequence[Evidence]) -> Finding:
    """The first fault of an event; without faults, how old and how exact all are."""
    judged = [judge(one) for one in found]
    for finding in judged:
        if finding.verdict != "data":
            return finding
    if len(judged) == 1:
        return judged[0]
    oldest = max(one.sample.age for one in found if one.sample)
    shares = [one.duty for one in found if one.duty is not None]
    least = min(shares, default=1.0)
    often = f"; multiplexed (dutycycle {figures(least, 2)})" if least < 1 else ""
    reason = (
        f"the values of its {len(found)} events are {figures(oldest)} s old at most"
    )
    return Finding("data", reason + often)


def _encode(pmu: str, event: str) -> list[str]:
    found = read_events({pmu: [event]}).get(pmu) or [{"encoding": []}]
    return list(found[0]["encoding"])


async def _rows(clients: Clients, query: str, **params: str) -> list[Row]:
    """Rows of a saved query; empty for values that its parameters cannot take."""
    try:
        text = saved_query(query).bind(params)
    except ParameterError:
        return []
    answer = await clients.graph.select(text)
    return list(answer.records())
