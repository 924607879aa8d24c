"""Which PMU events the metrics of PCP's perfevent agent count."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rdflib import URIRef

from core.stores.endpoint import Endpoint
from ingest.describe.plan import COUNTER_PREFIX, CountedEvent
from ontology.iris import Iris
from ontology.terms import ST
from queries.run import saved_rows
from sampling.plans.counters import CounterPurpose

METRIC_EVENT = "pmu/metric-event"


def counted_events(
    metrics: Iterable[str],
    counts: Mapping[str, CounterPurpose],
    host: str,
    twin: Endpoint,
    iris: Iris,
) -> dict[str, CountedEvent]:
    """The event of each metric that counts one, by the metric's name.

    ``counts`` are the events that a plan asks for. Any other counter comes from an
    agent that SuperTwin did not configure: its event is looked up by its name.
    """
    names = [name for name in metrics if name.startswith(COUNTER_PREFIX)]
    iris_of = {
        name: iris.pmu_event(counts[name].pmu, counts[name].name)
        for name in names
        if name in counts
    }
    described = _described(iris_of.values(), twin)
    found = {}
    for name in names:
        if name in counts:
            iri = iris_of[name] if str(iris_of[name]) in described else None
            found[name] = CountedEvent(_event_name(counts[name]), iri)
        else:
            rows = saved_rows(twin, METRIC_EVENT, {"host": host, "metric": name})
            found[name] = event_of_rows(name, rows)
    return found


def event_of_rows(metric: str, rows: Sequence[Mapping[str, Any]]) -> CountedEvent:
    """The event of a metric, from the rows of ``METRIC_EVENT``.

    If they name several events or none, the name in the metric is used.
    """
    names = {str(row["pmuName"]) for row in rows}
    if len(names) != 1:
        return CountedEvent(metric.removeprefix(COUNTER_PREFIX).rpartition(".")[0])
    iri = rows[0]["event"] if len(rows) == 1 else None
    return CountedEvent(names.pop(), URIRef(iri) if iri else None)


def _event_name(one: CounterPurpose) -> str:
    """The name in libpfm4; the kernel's own events need their PMU, too."""
    return f"{one.pmu}::{one.name}" if one.is_kernel else one.name


def _described(events: Iterable[URIRef], twin: Endpoint) -> set[str]:
    """The events that the catalogue has; those with modifiers are not in it."""
    values = " ".join(f"<{iri}>" for iri in set(events))
    if not values:
        return set()
    rows = twin.select(
        f"SELECT ?event {{ VALUES ?event {{ {values} }} ?event a <{ST.PmuEvent}> }}"
    )
    return {str(iri) for (iri,) in rows.rows}
