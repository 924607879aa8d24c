"""Loads made-up hosts into servers of its own, and scores answers about them."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.fleet import OwnFuseki
from bench.questions.answerers import GoldQueries, score
from bench.questions.facts import World
from bench.questions.generate import make_questions
from bench.questions.hosts import make_world
from bench.questions.load import IRIS, load_world
from bench.table import Figure
from core.stores.endpoint import Endpoint
from ingest.load.ontology import publish_ontology
from tests.servers import VictoriaMetrics

HOSTS, COUNT, SEED = 12, 1000, 1
# Share of 1,000 questions that EXASAGE answers rightly: a summary of arXiv 2609.17107.
EXASAGE = 93.6


@contextmanager
def loaded(world: World) -> Iterator[tuple[str, str]]:
    """The addresses of a Fuseki and a VictoriaMetrics that hold these hosts."""
    with (
        tempfile.TemporaryDirectory(prefix="supertwin-bench-") as stored,
        tempfile.TemporaryDirectory(prefix="supertwin-bench-") as folder,
        VictoriaMetrics(Path(stored)) as series,
        OwnFuseki(Path(folder), series.url) as server,
    ):
        load_world(server.url, series.url, world)
        with Endpoint(f"{server.url}/twin") as twin:
            publish_ontology(twin, IRIS)
        yield server.url, series.url


def word_figures() -> Iterator[Figure]:
    """The share of questions that their gold queries answer rightly, by topic."""
    world = make_world(SEED, HOSTS)
    questions = make_questions(world, COUNT, SEED)
    yield Figure(f"questions in words about {HOSTS} hosts", len(questions), "")
    with loaded(world) as (fuseki, _), Endpoint(f"{fuseki}/twin") as twin:
        for share in score(GoldQueries(twin), questions):
            compared = (EXASAGE, "EXASAGE") if share.topic == "all" else (None, "")
            yield Figure(
                f"  right by the gold queries: {share.topic}, of {share.asked}",
                share.percent,
                "%",
                100,
                *compared,
                at_least=True,
            )
