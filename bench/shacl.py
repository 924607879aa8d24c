"""Our validation of a new host, compared with pySHACL and Fuseki's SHACL service.

`shapes.certify` is kept as long as it is five times as fast as both in a bulk load.
There, a host is not in the store when it is validated, so Fuseki has to take its graph
first and to drop it afterwards.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from bench.fleet import LIKE_ZEN4
from bench.table import Figure
from core.settings.settings import Settings
from ingest.description import Description, describe
from ingest.machine_files import hwloc_file
from ontology.iris import Iris
from shapes.load import shapes_graph
from shapes.validate import examine, is_valid
from tests.dashboards.synthetic_facts import topology
from tests.servers import Fuseki

ROUNDS, WARM_UP, AT_LEAST = 20, 10, 5
_DATA = 'fuseki:name "data" ] ;'
_SHACL = 'fuseki:endpoint [ fuseki:operation fuseki:shacl ; fuseki:name "shacl" ] ;'
_TURTLE = {"Content-Type": "text/turtle", "Accept": "text/turtle"}
_GRAPH = {"graph": "urn:bench"}


def shacl_figures() -> list[Figure]:
    """A host of 384 threads, which conforms."""
    with tempfile.TemporaryDirectory(prefix="supertwin-bench-") as name:
        folder = Path(name)
        file = folder / "zen4.xml"
        file.write_bytes(topology(LIKE_ZEN4))
        description = describe(hwloc_file(file, "zen4"), Iris(Settings().base), [])
        triples = list(description.union())
        ours = _median(lambda: is_valid(triples), ROUNDS)
        graph = description.union()
        pyshacl = _median(lambda: examine(graph), 3)
        staged, alone = _in_fuseki(folder / "fuseki", description)
    title = "384 threads, SHACL of a new host"
    return [
        Figure(title, ours, "s"),
        Figure("  times faster than pySHACL", pyshacl / ours, "", AT_LEAST,
               at_least=True),
        Figure("  times faster than Fuseki: take, validate and drop the graph",
               staged / ours, "", AT_LEAST, at_least=True),
        Figure("  times faster than Fuseki: validate a graph that it has",
               alone / ours, ""),
    ]  # fmt: skip


def _in_fuseki(folder: Path, description: Description) -> tuple[float, float]:
    """Seconds of taking, validating and dropping the graph, and of validating alone."""
    body = "".join(part.ntriples() for part in description.graphs).encode()
    shapes = shapes_graph().serialize(format="turtle").encode()
    with _ShaclFuseki(folder) as server:
        url = f"{server.url}/twin"
        with httpx.Client(timeout=120, params=_GRAPH) as client:

            def send(method: str, path: str, **request: Any) -> httpx.Response:
                answer = client.request(method, f"{url}/{path}", **request)
                return answer.raise_for_status()

            def take() -> None:
                headers = {"Content-Type": "application/n-triples"}
                send("PUT", "data", content=body, headers=headers)

            def validate() -> None:
                report = send("POST", "shacl", content=shapes, headers=_TURTLE)
                assert "true" in report.text

            def stage() -> None:
                take()
                validate()
                send("DELETE", "data")

            staged = _median(stage, ROUNDS)
            take()
            return staged, _median(validate, ROUNDS)


class _ShaclFuseki(Fuseki):
    """A graph store with a SHACL service, which ours does not have."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        path = self.folder / "config.ttl"
        path.write_text(path.read_text().replace(_DATA, f"{_DATA} {_SHACL}"))


def _median(action: Callable[[], object], rounds: int) -> float:
    """Seconds, once the JVM has compiled what it needs."""
    if rounds == ROUNDS:
        for _ in range(WARM_UP):
            action()
    seconds = []
    for _ in range(rounds):
        started = time.monotonic()
        action()
        seconds.append(time.monotonic() - started)
    return statistics.median(seconds)
