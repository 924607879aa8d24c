"""What is looked up for a verdict only where the first look leaves it open."""

from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from anyio import to_thread

from api.services import Services
from api.store import StoreError
from api.verdict import Counter, Evidence
from ontology.iris import series_name
from ontology.selectors import selector, series_labels
from queries.catalogue import saved_query
from queries.endpoint import JSON_RESULTS
from queries.errors import ParameterError
from queries.results import read_rows

_MOST_NAMES = 3
_COUNTERS, _VALUE, _DUTY = "perfevent.hwcounters.", ".value", ".dutycycle"


async def in_depth(services: Services, found: Evidence) -> Evidence:
    """The same evidence, and what a counter or an unknown name needs beside it."""
    if found.metric.startswith(_COUNTERS) and found.metric.endswith(_VALUE):
        found = replace(found, duty=await _duty(services, found))
    if not found.known.host or found.known.exposed:
        return found
    counters = await _counters(services, found)
    near = () if counters else await _near(services, found)
    return replace(found, counters=counters, near=near)


async def _duty(services: Services, found: Evidence) -> float | None:
    """The newest share of time in which the counter counted, where that is sampled."""
    name = series_name(found.metric.removesuffix(_VALUE) + _DUTY)
    series = selector(name, series_labels(found.host, found.instance))
    try:
        sample = await services.store.last(series)
    except StoreError:
        return None
    return float(sample.value) if sample else None


async def _counters(services: Services, found: Evidence) -> tuple[Counter, ...]:
    event = found.metric.removeprefix(_COUNTERS)
    event = event.removesuffix(_VALUE).removesuffix(_DUTY)
    if "." in event:  # no event's name; other metrics of PCP have one at least
        return ()
    rows = await _rows(services, "why/counter", host=found.host, event=event)
    return tuple(
        Counter(str(pmu), str(name), bool(present), usable)
        for pmu, name, present, usable in rows
    )


async def _near(services: Services, found: Evidence) -> tuple[str, ...]:
    """Names that the host has below the one asked for, or like it."""
    rows = await _rows(services, "why/metric-names", host=found.host)
    names = [str(name) for (name,) in rows]
    below = [name for name in names if name.startswith(f"{found.metric}.")]
    if below:
        return tuple(below[:_MOST_NAMES])
    # Thousands of names take a while, in which the API answers others.
    like = await to_thread.run_sync(get_close_matches, found.metric, names, _MOST_NAMES)
    return tuple(like)


async def _rows(services: Services, query: str, **params: str) -> list[list[Any]]:
    """Rows of a saved query; none for values that no term can hold."""
    try:
        text = saved_query(query).bind(params)
    except ParameterError:
        return []
    return read_rows(await services.graph.query(text, JSON_RESULTS)).values()
