"""Questions of analysts to a twin of 1,000 hosts, in any order of their triples.

The hosts are copies of real machines if their files are there, else of made-up ones.
Twenty of them have telemetry and seven days of samples.
"""

import random
import re
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx
import orjson
from rdflib import URIRef

from bench.fleet import OwnFuseki
from bench.table import Figure
from core.settings.settings import Settings
from core.stores.endpoint import Endpoint
from ingest.description import Description
from ingest.entailed import with_entailed
from ingest.load.ontology import publish_ontology
from ingest.triples import Triples
from ontology.iris import Iris
from ontology.terms import PREFIXES
from sampling.plan_file.monitor import load_monitor, plan_names
from tests.dashboards.synthetic_facts import big_document, topology
from tests.dtdl.twins import MACHINES
from tests.ingest.documents import describe_json
from tests.servers import VictoriaMetrics

HOSTS, SAMPLED, AT_ONCE, ORDERS, ROUNDS = 1000, 20, 20, 20, 5
DAYS, PERIOD, MOST_ROWS = 7, 60, 10_000
# With the real machines: two NUMA domains, and PCI devices near them.
TYPICAL = "node16"
MADE_UP = ("pack:2 numa:2 l3:2 l2:4 core:1 pu:2", "pack:1 l3:1 l2:8 core:1 pu:1")
IRIS = Iris(Settings().base)
_TABLE = {"Accept": "application/sparql-results+json"}
_PREFIXES = PREFIXES | {"sosa": "http://www.w3.org/ns/sosa/"}
_HEAD = "".join(f"PREFIX {name}: <{iri}>\n" for name, iri in _PREFIXES.items())


@dataclass(frozen=True)
class Question:
    """A question and its query, whose triples stand one in a line."""

    title: str
    query: str

    def shuffled(self, order: random.Random) -> str:
        """The query with its outermost triples in another order."""
        lines = self.query.splitlines()
        places = [i for i, line in enumerate(lines) if re.match(r"  \?.* \.$", line)]
        triples = [lines[place] for place in places]
        order.shuffle(triples)
        for place, triple in zip(places, triples, strict=True):
            lines[place] = triple
        return "\n".join(lines)


def question_figures() -> Iterator[Figure]:
    """Each question as it is written, and the slowest of twenty random orders."""
    questions = read_questions()
    with (
        tempfile.TemporaryDirectory(prefix="supertwin-bench-") as stored,
        tempfile.TemporaryDirectory(prefix="supertwin-bench-") as folder,
        VictoriaMetrics(Path(stored)) as series,
        OwnFuseki(Path(folder), series.url) as server,
    ):
        sampled, triples = _fill(server, series)
        yield Figure(f"{HOSTS:,} hosts for questions: triples", triples, "")
        asked = [
            Question(
                each.title,
                each.query.replace("SAMPLED", sampled[0]).replace("HOST", TYPICAL),
            )
            for each in questions
        ]
        yield from _measured(asked, server)


def read_questions() -> list[Question]:
    """The questions of `questions.rq`, with the prefixes of their queries."""
    _, *parts = Path(__file__).with_suffix(".rq").read_text().split("### ")
    split = (part.partition("\n") for part in parts)
    return [Question(title, _HEAD + query.strip()) for title, _, query in split]


def _measured(questions: Sequence[Question], server: OwnFuseki) -> Iterator[Figure]:
    address, order = f"{server.url}/twin/sparql", random.Random(1)
    typical = []
    with httpx.Client(timeout=120) as client:
        for question in questions:
            _seconds(client, address, question.query)  # counts and caches
            seconds = statistics.median(
                _seconds(client, address, question.query) for _ in range(ROUNDS)
            )
            typical.append(seconds)
            slowest = max(
                _seconds(client, address, question.shuffled(order))
                for _ in range(ORDERS)
            )
            yield Figure(
                question.title, slowest * 1000, "ms", 2000, seconds * 1000, "as written"
            )
    median = statistics.median(typical) * 1000
    yield Figure("median of all questions, as written", median, "ms", 150)


def _seconds(client: httpx.Client, address: str, query: str) -> float:
    started = time.perf_counter()
    answer = client.post(address, data={"query": query}, headers=_TABLE)
    answer.raise_for_status()
    rows = orjson.loads(answer.content)["results"]["bindings"]
    assert len(rows) <= MOST_ROWS, (len(rows), query)
    return time.perf_counter() - started


def _fill(server: OwnFuseki, series: VictoriaMetrics) -> tuple[list[str], int]:
    """Load the hosts; return those with samples, and how many triples there are."""
    described = [_described(xml, is_sampled=False) for xml in _machines()]
    with_telemetry = _described(topology(MADE_UP[0]), is_sampled=True)
    shared = {**with_telemetry.pmus, IRIS.metrics_graph: with_telemetry.metrics}
    texts, sampled_text = [*map(_host, described)], _host(with_telemetry)
    sampled = [f"node{number}" for number in range(0, HOSTS, HOSTS // SAMPLED)]
    with Endpoint(f"{server.url}/twin") as twin:
        publish_ontology(twin, IRIS)
    bodies = [_quads(with_entailed(shared, IRIS))]
    for host in (f"node{number}" for number in range(HOSTS)):
        text = sampled_text if host in sampled else texts[len(bodies) % len(texts)]
        kernel = f"6.1.{len(bodies) % 10}"
        bodies.append(text.replace("HOSTNAME", host).replace("KERNEL", kernel))
    for first in range(0, len(bodies), AT_ONCE):
        some = "".join(bodies[first : first + AT_ONCE])
        _post(f"{server.url}/twin/data", some, "application/n-quads")
    for host in sampled:
        _post(f"{series.url}/api/v1/import", _samples(host), "application/json")
    httpx.get(f"{series.url}/internal/force_flush").raise_for_status()
    return sampled, sum(body.count("\n") for body in bodies)


def _machines() -> list[bytes]:
    files = sorted(MACHINES.glob("*.xml"))
    return [file.read_bytes() for file in files] or [*map(topology, MADE_UP)]


def _described(xml: bytes, *, is_sampled: bool) -> Description:
    """A host of this topology whose name and kernel are still to be replaced."""
    document = big_document("HOSTNAME", xml)
    facts, names = document["facts"], []
    facts["os"] = facts["os"] | {"kernel": "KERNEL", "hostname": "HOSTNAME"}
    if is_sampled:
        exposed = [metric["name"] for metric in facts["pcp"]["metrics"]]
        names = plan_names(load_monitor(), exposed)
    else:
        del facts["pcp"], document["sources"]["pcp"]
    return describe_json(document, IRIS, names)


def _host(described: Description) -> str:
    own = Triples([*described.twin, *described.probe, *described.plans])
    return _quads(with_entailed({IRIS.twin_graph("HOSTNAME"): own}, IRIS))


def _quads(graphs: Mapping[URIRef, Triples]) -> str:
    return "".join(
        line.removesuffix(" .") + f" <{graph}> .\n"
        for graph, triples in graphs.items()
        for line in triples.ntriples().splitlines()
    )


def _samples(host: str) -> bytes:
    """Seven days of samples of threads, load and memory, as lines of JSON."""
    now = int(time.time()) // PERIOD * PERIOD
    times = [1000 * t for t in range(now - DAYS * 86400, now + 1, PERIOD)]
    labels = [
        *(
            {"__name__": "kernel_percpu_cpu_user", "instname": f"cpu{cpu}"}
            for cpu in range(64)
        ),
        {"__name__": "kernel_all_load", "instname": "1 minute"},
        {"__name__": "mem_util_free"},
    ]
    lines = [
        {
            "metric": label | {"hostname": host},
            # Counters of milliseconds that grow by 16 and a bit in a second.
            "values": [(PERIOD * 16 + number) * i for i in range(len(times))],
            "timestamps": times,
        }
        for number, label in enumerate(labels)
    ]
    return b"\n".join(map(orjson.dumps, lines))


def _post(address: str, body: str | bytes, media_type: str) -> None:
    headers = {"Content-Type": media_type}
    content = body if isinstance(body, bytes) else body.encode()
    httpx.post(
        address, content=content, headers=headers, timeout=300
    ).raise_for_status()
