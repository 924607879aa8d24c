"""Two hosts with samples, jobs, runs and a history; tokens are limited to one."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
from rdflib import Literal

from api.access.tokens import TokenRole, add_token
from bench.questions.facts import World
from bench.questions.hosts import make_world
from bench.questions.load import IRIS, load_world
from core.stores.endpoint import Endpoint
from core.stores.scope import Scope
from ingest.load.ontology import publish_ontology
from tests.api.servers import bearer, own_api
from tests.servers import Fuseki, VictoriaMetrics

# The second name occurs in all that is about its host, and nowhere else.
HOST, HIDDEN = "alpha", "zebra"
PAST = Path(__file__).parents[1] / "queries" / "hosts" / "history.trig"


@dataclass
class TwoHosts:
    """The servers, and what is on the hosts."""

    url: str
    home: Path
    fuseki: Fuseki
    world: World
    client: httpx.Client

    def token(self, role: TokenRole = TokenRole.READER, **kinds: Sequence[str]) -> str:
        """Return a token with these limits, which is made when it is first needed."""
        scope = Scope(**{kind: tuple(names) for kind, names in kinds.items()})
        name = f"{role}-{abs(hash(scope))}-{time.monotonic_ns()}"
        return add_token(self.home, name, role, None, scope)

    def ask(self, token: str, path: str, **options: Any) -> httpx.Response:
        """Send a request, GET by default."""
        headers = {**bearer(token), **options.pop("headers", {})}
        method = options.pop("method", "GET")
        return self.client.request(method, self.url + path, headers=headers, **options)

    def sparql(self, token: str, query: str, **form: str) -> httpx.Response:
        """Run a query as CSV or Turtle."""
        headers = {"Accept": "text/csv, text/turtle;q=0.9, application/json;q=0.1"}
        data = {"query": PREFIXES + query, **form}
        options: dict[str, Any] = {"method": "POST", "data": data, "headers": headers}
        return self.ask(token, "/sparql", **options)

    def rows(self, token: str, query: str, **form: str) -> list[str]:
        """Return the lines of a table, without its header, in order."""
        answer = self.sparql(token, query, **form)
        assert answer.status_code == 200, answer.text
        return sorted(answer.text.splitlines()[1:])


PREFIXES = f"""PREFIX st: <https://w3id.org/supertwin/ns#>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX prov: <http://www.w3.org/ns/prov#>
PREFIX graph: <{IRIS.base}/graph/>
PREFIX twin: <{IRIS.base}/twin/>
"""


@contextmanager
def two_hosts(folder: Path) -> Iterator[TwoHosts]:
    """Start stores with both hosts, and an API that only token holders may read."""
    first, second, _ = make_world(1, 3).hosts
    world = World(
        make_world(1, 3).end, [replace(first, name=HOST), replace(second, name=HIDDEN)]
    )
    with (
        VictoriaMetrics(folder / "store") as store,
        Fuseki(folder / "fuseki", store.url) as fuseki,
    ):
        load_world(fuseki.url, store.url, world)
        _add_rest(fuseki.url)
        settings = {"read_access": "token", "query_timeout": "20"}
        with own_api(
            folder / "home", IRIS.base, fuseki.url, store.url, **settings
        ) as api:
            yield TwoHosts(api.url, api.home, fuseki, world, api.client)


def _add_rest(fuseki: str) -> None:
    """Add the ontology, both histories, and a hidden baseline, model and benchmark."""
    with Endpoint(f"{fuseki}/twin") as twin:
        publish_ontology(twin, IRIS)
        twin.update(
            f"{PREFIXES} INSERT DATA {{ GRAPH <{IRIS.baseline_graph('b')}> {{ "
            f"<{IRIS.baseline('b')}> st:baselineName {Literal('b').n3()} ; "
            f"st:baselineRun <{IRIS.observation('run-2a')}> }} "
            f"GRAPH <{IRIS.model_graph(HOST, 'b')}> {{ <{IRIS.model(HOST, 'b')}> "
            f"a st:RuntimeModel ; st:modelledRun <{IRIS.observation('run-2a')}> }} "
            f"GRAPH <{IRIS.benchmark_graph('m')}> {{ <{IRIS.benchmark('m')}> "
            f"a st:Benchmark ; st:ofHost <{IRIS.host(HIDDEN)}> }} }}"
        )
    for name in (HOST, HIDDEN):
        text = PAST.read_text()
        for sign in ("/", '"'):
            text = text.replace(f"{sign}n1", f"{sign}{name}")
        headers = {"Content-Type": "application/trig"}
        answer = httpx.post(f"{fuseki}/history/data", content=text, headers=headers)
        answer.raise_for_status()
