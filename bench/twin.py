"""From a machine, or a file, to a queryable twin."""

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import httpx

from bench.table import Figure
from core.stores.endpoint import Endpoint
from ingest.description import Description, describe
from ingest.load.publish import TwinStores, publish
from ingest.probe import probe
from ingest.schema.check import check_document
from ontology.iris import Iris
from sampling.plan_file.monitor import load_monitor, plan_names
from shapes.validate import validate
from tests.dashboards.synthetic_facts import scaled_document, topology
from tests.stack import Stack

ORIGINAL_PROBE_S = 30.0

T = TypeVar("T")


def probe_figures(stack: Stack) -> list[Figure]:
    """Everything from the command to a query result that shows the new host."""
    seconds = []
    for number in range(3):
        host = f"probed-{number}"
        env = {**stack.env, "SUPERTWIN_HOST": host}
        started = time.monotonic()
        Stack(stack.home, env).run("ingest")
        found = stack.sparql(
            "PREFIX st: <https://w3id.org/supertwin/ns#> "
            f'SELECT ?h WHERE {{ ?h st:hostname "{host}" }}'
        )
        seconds.append(time.monotonic() - started)
        assert len(found) == 1
    return [
        Figure(
            "probe → validated → queryable, this machine",
            statistics.median(seconds),
            "s",
            10,
            ORIGINAL_PROBE_S,
            "first phase of the original's probe alone (published)",
        )
    ]


def big_host_figures(stack: Stack) -> list[Figure]:
    """A 128-thread host with this machine's PCP catalogue, its instances scaled up."""
    iris = Iris(stack.base)
    facts = probe("big", stack.bridge()["pcp"]["address"])
    xml = topology()
    document, parse = _timed(lambda: scaled_document(facts, xml))
    names = [m["name"] for m in document["facts"]["pcp"]["metrics"]]
    monitored = plan_names(load_monitor(), names)
    description, describing = _timed(
        lambda: describe(check_document(document), iris, monitored)
    )
    _, validating = _timed(lambda: validate(description.union()))
    with _store(stack) as store:
        _, publishing = _timed(lambda: publish(description, store, iris))
    total = parse + describing + publishing
    return [
        Figure(
            "128 threads: parse + describe + SHACL + load",
            total,
            "s",
            5,
            _bare_load(stack, description),
            "the same triples sent to Fuseki as one N-Triples body",
        ),
        Figure("  of which parse", parse, "s"),
        Figure("  of which describe", describing, "s"),
        # The load validates too: the comparison is validation of the whole union alone.
        Figure("  of which SHACL and load", publishing, "s", None, validating, "SHACL"),
        Figure(
            "128 threads: triples of the host's own graph",
            len(description.twin) + len(description.probe),
            "",
            50000,
        ),
        Figure(
            "128 threads: triples with plans",
            len(description.twin) + len(description.plans),
            "",
        ),
        Figure("128 threads: triples with the shared catalogues", len(description), ""),
    ]


def _bare_load(stack: Stack, description: Description) -> float:
    """Seconds that Fuseki needs for the same triples in one request body."""
    body = "".join(part.ntriples() for part in description.graphs).encode()
    url, params = f"{stack.fuseki}/history/data", {"graph": "urn:bench"}
    headers = {"Content-Type": "application/n-triples"}
    _, seconds = _timed(
        lambda: httpx.put(
            url, params=params, content=body, headers=headers, timeout=60
        ).raise_for_status()
    )
    httpx.delete(url, params=params, timeout=60).raise_for_status()
    return seconds


@contextmanager
def _store(stack: Stack) -> Iterator[TwinStores]:
    url = stack.fuseki
    with Endpoint(f"{url}/twin") as twin, Endpoint(f"{url}/history") as history:
        yield TwinStores(twin, history)


def _timed(action: Callable[[], T]) -> tuple[T, float]:
    started = time.monotonic()
    return action(), time.monotonic() - started
