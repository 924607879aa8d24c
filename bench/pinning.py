"""Placements through the API with a store of 1,000 hosts, compared with the queries.

The run also measures queries about past runs of these hosts (`bench.observations`).
"""

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from bench.fleet import OwnFuseki, own_store
from bench.observations import observation_figures
from bench.table import Figure
from core.settings.settings import Settings
from core.stores.results import read_rows
from ingest.hwloc.read import parse_hwloc
from ingest.probe import hwloc_document
from ontology.iris import Iris
from pinning.answers import TREE
from pinning.choose import choose
from pinning.policy import read_policy
from pinning.saved import BoundQuery, policy_query
from pinning.tree import read_tree
from tests.api.servers import Api
from tests.dashboards.synthetic_facts import topology
from tests.ingest.documents import describe_json

HOSTS, AT_ONCE, WARM_UP, ROUNDS = 1000, 50, 300, 100
ASKED = [
    ("scatter", 8),
    ("distinct:l3", 8),
    ("per:socket=4+distinct:l1", 8),
    ("compact", 128),
]
_TABLE = {"Accept": "application/sparql-results+json"}


def pinning_figures() -> Iterator[Figure]:
    """Medians of paired requests: one to the API, its queries at once to Fuseki."""
    with tempfile.TemporaryDirectory() as folder, own_store() as (server, _):
        _fill(server)
        settings = {
            "home": folder,
            "fuseki_url": server.address,
            "fuseki_user": "supertwin",
            "fuseki_password": server.password,
        }
        with Api(Path(folder), **settings) as api:
            yield from _measured(api.url, server)
            yield host_page_figure(api.url)
            yield from observation_figures(api.url, server.url)
    yield _own_part()


def host_page_figure(api: str) -> Figure:
    """The pages of all hosts, one after the other."""
    with httpx.Client(timeout=60, headers={"Accept": "text/turtle"}) as client:

        def ms(number: int) -> float:
            page = {"limit": 100, "offset": number * 100 % HOSTS}
            started = time.perf_counter()
            client.get(f"{api}/twin", params=page).raise_for_status()
            return (time.perf_counter() - started) * 1000

        found = [ms(number) for number in range(ROUNDS)]
    median = statistics.median(found[ROUNDS // 2 :])
    title = f"a page of 100 of {HOSTS:,} hosts, warm, median"
    return Figure(title, median, "ms", 50)


def _fill(server: OwnFuseki) -> None:
    """Load hosts of 128 threads as N-Quads, copied from one description."""
    iris = Iris(Settings().base)
    made = describe_json(hwloc_document("HOSTNAME", parse_hwloc(topology())), iris)
    lines = made.twin.graph().serialize(format="nt").splitlines()
    triples = [line[:-2] for line in lines if line.endswith(" .")]
    for first in range(0, HOSTS, AT_ONCE):
        hosts = [f"node{number}" for number in range(first, first + AT_ONCE)]
        body = "".join(
            f"{triple} <{iris.twin_graph('HOSTNAME')}> .\n".replace("HOSTNAME", host)
            for host in hosts
            for triple in triples
        )
        headers = {"Content-Type": "application/n-quads"}
        address = f"{server.url}/twin/data"
        httpx.post(
            address, content=body.encode(), headers=headers, timeout=300
        ).raise_for_status()


def _measured(api: str, server: OwnFuseki) -> Iterator[Figure]:
    with httpx.Client(timeout=60) as client, ThreadPoolExecutor(3) as pool:
        pairs = [_pair(client, pool, api, server, 0, *ASKED[0]) for _ in range(WARM_UP)]
        yield Figure("pin: first call ever", pairs[0][0], "ms")
        for policy, threads in ASKED:
            pairs = [
                _pair(client, pool, api, server, number, policy, threads)
                for number in range(ROUNDS)
            ]
            placed, bare = (
                statistics.median(times) for times in zip(*pairs, strict=True)
            )
            title = f"pin {threads} threads by {policy}, {HOSTS:,} hosts, warm, median"
            yield Figure(title, placed, "ms", 30, bare, "Fuseki's queries at once")


def _pair(
    client: httpx.Client,
    pool: ThreadPoolExecutor,
    api: str,
    server: OwnFuseki,
    number: int,
    policy: str,
    threads: int,
) -> tuple[float, float]:
    host = f"node{number * 7 % HOSTS}"
    asked = {"host": host, "policy": policy, "threads": threads}
    chosen = policy_query(host, read_policy(policy), threads)
    queries = [*_tree(host), *([chosen] if chosen else [])]

    def through_api() -> None:
        client.get(f"{api}/pin", params=asked).raise_for_status()

    def straight() -> None:
        assert all(pool.map(lambda query: _ask(client, server, query), queries))

    return _ms(through_api), _ms(straight)


def _tree(host: str) -> list[BoundQuery]:
    return [BoundQuery(name, {"host": host}) for name in TREE]


def _ask(client: httpx.Client, server: OwnFuseki, query: BoundQuery) -> bytes:
    address = f"{server.url}/twin/sparql"
    answer = client.post(address, data={"query": query.text}, headers=_TABLE)
    return answer.raise_for_status().content


def _own_part() -> Figure:
    """Only the tree and the choice, from rows that are already available."""
    with own_store() as (server, store), httpx.Client(timeout=60) as client:
        iris = Iris(Settings().base)
        made = describe_json(hwloc_document("one", parse_hwloc(topology())), iris)
        store.twin.put_graph(str(iris.twin_graph("one")), made.twin.graph())
        tables = [read_rows(_ask(client, server, query)) for query in _tree("one")]
    rows = [
        [dict(zip(table.columns, row, strict=True)) for row in table.values()]
        for table in tables
    ]
    policy = read_policy("per:socket=4+distinct:l1")

    def place() -> None:
        choose(read_tree("one", *rows), policy, 8)

    spent = statistics.median(_ms(place) for _ in range(ROUNDS))
    return Figure("  of which the tree and the choice", spent, "ms")


def _ms(work: Callable[[], None]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000
