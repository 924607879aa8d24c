"""Why a series has data: a saved query, joined with the bridge and the store."""

import asyncio
from typing import Any

from anyio import to_thread
from pydantic import BaseModel, Field

from core.errors import api_error
from core.stores.clients import Clients
from core.stores.errors import StoreError
from core.stores.series_store import StoredSample
from ontology.selectors import escaped, pattern, selector, series_labels, series_name
from queries.catalogue import saved_query
from queries.diagnosis import Finding, MetricFacts, read_known
from queries.errors import ParameterError
from sampling.account.bridge_status import read_bridge
from sampling.events.choice import EventSelection
from sampling.events.event import is_counter
from sampling.why.accuracy import accuracy_of
from sampling.why.counters import choice_of, judge_counters, may_be_counted
from sampling.why.evidence import with_details
from sampling.why.verdict import Evidence, judge

QUERY = "why/no-data"


class Why(BaseModel):
    """Why a series has data or not."""

    host: str
    metric: str
    instance: str | None
    verdict: str = Field(
        description="data, stale, unknown host, unknown metric, not exposed by host, "
        "counter not on this PMU, unknown instance, not planned, plan removed, "
        "host not sampled, bridge down, PMCD down, agent down, agent cannot run, "
        "exporter down, no permission, "
        "PCP error, too many texts, multiplexed, cgroup ended, no value, log down, "
        "bridge behind, store down or not yet sampled"
    )
    reason: str = Field(description="One sentence")
    plan: list[str] = Field(description="Names of the plans that sample it")
    period: float | None = Field(description="Seconds between two samples")
    selector: str = Field(description="MetricsQL selector of the series")
    last_value: float | int | None = Field(
        description="The last value of one series; none of several at once"
    )
    last_text: str | None = Field(
        description="What a metric of texts said last; `last_value` is 1 then"
    )
    last_timestamp_ms: int | None
    age_s: float | None = Field(description="Seconds since the last value")
    store_reason: str | None = Field(description="Why the store cannot be read")
    duty_cycle: float | None = Field(
        description="Share of the time in which a counter of perfevent counted"
    )
    accuracy: str | None = Field(
        default=None,
        description="How accurate its events were, where that was measured",
    )


async def explain(
    clients: Clients, host: str, metric: str, instance: str | None
) -> Why:
    """Explain a series for the API and the command line; raises ApiError.

    `metric` may be a role or a PMU event.
    """
    found = await evidence(clients, host, metric, instance)
    if found.known.host and may_be_counted(metric):
        choice = await choice_of(clients, host, metric)
        if choice:
            counted = {one.event.value for one in choice.counted}
            answer = await _counters(clients, found, choice)
            return await _with_accuracy(clients, answer, counted)
    found = await with_details(clients, found)
    return await _with_accuracy(clients, _answer(found, judge(found)), {metric})


async def _with_accuracy(clients: Clients, answer: Why, metrics: set[str]) -> Why:
    if any(map(is_counter, metrics)):
        answer.accuracy = await accuracy_of(clients, answer.host, metrics)
    return answer


async def _counters(clients: Clients, asked: Evidence, choice: EventSelection) -> Why:
    """The answer for a role or an event, from the evidence about its metrics."""

    async def look(metric: str) -> Evidence:
        one = await evidence(clients, asked.host, metric, asked.instance)
        return await with_details(clients, one)

    judged, found = await judge_counters(choice, asked.metric, look)
    if not found:
        return _answer(asked, judged)
    return _combined(asked, judged, [_answer(one, judged) for one in found])


def _combined(asked: Evidence, judged: Finding, found: list[Why]) -> Why:
    """One answer for several series: the oldest value, the lowest duty cycle."""
    names = pattern(series_name(one.metric) for one in found)
    labels = series_labels(asked.host, asked.instance).items()
    written = [f'__name__=~"{escaped(names)}"']
    written += [f'{key}="{escaped(value)}"' for key, value in labels]
    last = [one.last_timestamp_ms for one in found]
    ages = [one.age_s for one in found if one.age_s is not None]
    duties = [one.duty_cycle for one in found if one.duty_cycle is not None]
    return Why(
        host=asked.host,
        metric=asked.metric,
        instance=asked.instance,
        verdict=judged.verdict,
        reason=judged.reason,
        plan=sorted({name for one in found for name in one.plan}),
        period=max((one.period for one in found if one.period), default=None),
        selector=found[0].selector if len(found) == 1 else f"{{{','.join(written)}}}",
        last_value=found[0].last_value if len(found) == 1 else None,
        last_text=None,
        last_timestamp_ms=min((one for one in last if one), default=None),
        age_s=max(ages, default=None),
        store_reason=found[0].store_reason,
        duty_cycle=min(duties, default=None),
    )


async def evidence(
    clients: Clients, host: str, metric: str, instance: str | None
) -> Evidence:
    """All evidence about a series, or about all series of a metric on a host."""
    series = _selector(host, metric, instance)
    known, bridge, (sample, store_problem) = await asyncio.gather(
        _known(clients, host, metric, instance),
        to_thread.run_sync(read_bridge, clients.bridge_state, host),
        _last(clients, series),
    )
    return Evidence(host, metric, instance, known, bridge, sample, store_problem)


async def _known(
    clients: Clients, host: str, metric: str, instance: str | None
) -> MetricFacts:
    try:
        text = saved_query(QUERY).bind(
            {"host": host, "metric": metric, "instance": instance}
        )
    except ParameterError as error:
        raise api_error(error) from None
    return read_known(await clients.graph.select(text))


async def _last(clients: Clients, series: str) -> tuple[StoredSample | None, str]:
    try:
        return await clients.store.last(series), ""
    except StoreError as error:
        return None, error.detail


def _answer(found: Evidence, judged: Finding) -> Why:
    sample = found.sample
    values: dict[str, Any] = {
        "last_value": sample.number if sample and not found.covers_several else None,
        "last_text": sample.text if sample and not found.covers_several else None,
        "last_timestamp_ms": sample.timestamp_ms if sample else None,
        "age_s": sample.age if sample else None,
        "duty_cycle": found.duty,
    }
    return Why(
        host=found.host,
        metric=found.metric,
        instance=found.instance,
        verdict=judged.verdict,
        reason=judged.reason,
        plan=list(found.known.plans),
        period=found.known.period,
        selector=_selector(found.host, found.metric, found.instance),
        store_reason=found.store_reason or None,
        **values,
    )


def _selector(host: str, metric: str, instance: str | None) -> str:
    return selector(series_name(metric), series_labels(host, instance))
