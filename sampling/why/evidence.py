"""Evidence that is looked up only if the first look leaves a verdict open."""

from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from anyio import to_thread

from core.settings.state import AGENTS_FOLDER
from core.stores.clients import Clients
from core.stores.errors import StoreError
from ingest.describe.process import time_literal
from ontology.selectors import selector, series_labels, series_name
from queries.catalogue import saved_query
from queries.errors import ParameterError
from sampling.agents.exporter_status import last_failure
from sampling.agents.known import agent_of
from sampling.sources.cgroup_metrics import PREFIX as CGROUP_METRICS
from sampling.why.verdict import AgentSeen, CgroupSeen, Counter, Evidence

# Names that merely share letters do not help (`disk.all.write`, `denki.rapl.rate`:
# 0.62).
_MOST_NAMES, _ALIKE = 3, 0.7
_CGROUPS = (CGROUP_METRICS, "cgroup.")
_COUNTERS, _VALUE, _DUTY = "perfevent.hwcounters.", ".value", ".dutycycle"
_PMU_SIGN = "__"  # between PMU and event, in names of metrics


async def with_details(clients: Clients, found: Evidence) -> Evidence:
    """The same evidence, plus what a counter or an unknown name needs."""
    if found.metric.startswith(_COUNTERS) and found.metric.endswith(_VALUE):
        found = replace(found, duty=await _duty(clients, found))
    if found.instance and found.metric.startswith(_CGROUPS):
        found = replace(found, group=await _group(clients, found))
    if found.known.host and agent_of(found.metric):
        found = replace(found, agent=await _agent(clients, found))
    if not found.known.host or found.known.exposed:
        return found
    counters = await _counters(clients, found)
    near = () if counters else await _near(clients, found)
    return replace(found, counters=counters, near=near)


async def _duty(clients: Clients, found: Evidence) -> float | None:
    """The newest share of time in which the counter counted, if that is sampled.

    Older values explain nothing.
    """
    name = series_name(found.metric.removesuffix(_VALUE) + _DUTY)
    series = selector(name, series_labels(found.host, found.instance))
    try:
        sample = await clients.store.last(series)
    except StoreError:
        return None
    return float(sample.value) if sample and found.is_fresh(sample) else None


async def _group(clients: Clients, found: Evidence) -> CgroupSeen | None:
    """The last control group with the path, which is also its name in PCP."""
    parameters = {"path": found.instance or "", "metric": found.metric}
    rows = await _rows(clients, "why/cgroup", host=found.host, **parameters)
    if not rows:
        return None
    _host, _path, _noticed, ended, gives, _iri = rows[0]
    own = found.metric.startswith(CGROUP_METRICS)
    return CgroupSeen(str(time_literal(ended)) if ended else "", bool(gives) or not own)


async def _agent(clients: Clients, found: Evidence) -> AgentSeen | None:
    """The module that gives the metric, and what its exporter answered last.

    Only this machine's exporters report where it can be read.
    """
    rows = await _rows(clients, "why/agent", host=found.host, metric=found.metric)
    if not rows:
        return None
    _host, agent, module, reason, running, url = rows[0]
    home = clients.bridge_state.parent / AGENTS_FOLDER / str(agent)
    failure = (
        await to_thread.run_sync(last_failure, home, str(module), str(url))
        if url and running
        else ""
    )
    return AgentSeen(
        str(agent),
        str(module),
        reason=str(reason or ""),
        url=str(url or ""),
        running=bool(running),
        exporter=failure,
    )


async def _counters(clients: Clients, found: Evidence) -> tuple[Counter, ...]:
    event = found.metric.removeprefix(_COUNTERS)
    event = event.removesuffix(_VALUE).removesuffix(_DUTY)
    if "." in event:  # not an event: other metrics of PCP have a dot
        return ()
    rows = await _rows(clients, "why/counter", host=found.host, event=event)
    pmu, parted, name = event.partition(_PMU_SIGN)
    if parted and not rows:
        of_any = await _rows(clients, "why/counter", host=found.host, event=name)
        rows = [row for row in of_any if row[0] == pmu]
    return tuple(
        Counter(str(pmu), str(name), bool(present), usable)
        for pmu, name, present, usable in rows
    )


async def _near(clients: Clients, found: Evidence) -> tuple[str, ...]:
    """Names of the host that are below the one asked for, or similar to it."""
    rows = await _rows(clients, "why/metric-names", host=found.host)
    names = [str(name) for (name,) in rows]
    below = [name for name in names if name.startswith(f"{found.metric}.")]
    if below:
        return tuple(below[:_MOST_NAMES])
    # Comparing thousands of names takes a while, in which the API answers others.
    like = await to_thread.run_sync(
        get_close_matches, found.metric, names, _MOST_NAMES, _ALIKE
    )
    return tuple(like)


async def _rows(clients: Clients, query: str, **params: str) -> list[list[Any]]:
    """Rows of a saved query; empty for values that its parameters cannot take."""
    try:
        text = saved_query(query).bind(params)
    except ParameterError:
        return []
    return (await clients.graph.select(text)).values()
