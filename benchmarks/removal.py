"""Removes benchmarks with their results and runs."""

from collections.abc import Sequence

from rdflib import URIRef

from core.settings.settings import Settings
from core.stores.endpoint import Endpoint
from ingest.entailed import drop
from observations.removal import forget_runs
from ontology.iris import IdError, Iris
from ontology.terms import ST


def forget(settings: Settings, twin: Endpoint, ids: Sequence[str]) -> list[str]:
    """Remove runs, groups of repetitions or benchmarks; return the ids of all of them.

    The runs of a benchmark are removed with it. Runs and groups are removed, and errors
    raised, as by `forget_runs`.
    """
    iris = Iris(settings.base)
    benchmarks = {
        id_: name for id_ in ids if (name := _benchmark(twin, iris, id_)) is not None
    }
    names = sorted({*benchmarks.values()})
    runs = [id_ for id_ in ids if id_ not in benchmarks]
    runs += [run for name in names for run in _runs(twin, iris.benchmark(name))]
    forgotten = forget_runs(settings, twin, runs) if runs else []
    # Remove benchmarks last: an interrupted removal can be repeated.
    if names:
        twin.update(drop(iris, *map(iris.benchmark_graph, names)))
    return forgotten + names


def _benchmark(twin: Endpoint, iris: Iris, id_: str) -> str | None:
    """Return the name of a benchmark from its id or IRI; None if there is none."""
    name = id_.rpartition("/")[2]
    try:
        graph = iris.benchmark_graph(name)
    except IdError:
        return None
    pattern = f"GRAPH <{graph}> {{ ?benchmark a <{ST.BenchmarkInterface}> }}"
    return name if twin.select(f"SELECT * {{ {pattern} }} LIMIT 1").values() else None


def _runs(twin: Endpoint, benchmark: URIRef) -> list[str]:
    """Return the IRIs of the runs of a benchmark that are still recorded."""
    rows = twin.select(
        f"""SELECT DISTINCT ?run {{
          <{benchmark}> <{ST.hasResult}>/<{ST.observedIn}> ?run .
          ?run a <{ST.ObservationInterface}> }}"""
    ).values()
    return [str(run) for (run,) in rows]
