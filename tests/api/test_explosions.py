"""A query that explodes is an error for its sender, and for nobody else."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from api.access.tokens import TokenRole
from tests.api import graph
from tests.api.servers import Closed, bearer, own_api
from tests.explosions import DOUBLINGS, GROUPS, SORT, WAIT
from tests.servers import Fuseki

pytestmark = pytest.mark.serial

SMALL = "SELECT ?s { ?s a <https://w3id.org/supertwin/ns#ComputeNode> }"
FEWEST = 20


@dataclass
class Service:
    """An API that requires tokens, its Fuseki, and two clients."""

    fuseki: Fuseki
    api: Closed
    greedy: str
    other: str

    def ask(self, query: str, token: str) -> httpx.Response:
        form = {"query": query}
        url, headers = f"{self.api.url}/sparql", bearer(token)
        return httpx.post(url, data=form, headers=headers, timeout=240)


@pytest.fixture(scope="module")
def service(
    tmp_path_factory: pytest.TempPathFactory, store: str, base: str
) -> Iterator[Service]:
    folder: Path = tmp_path_factory.mktemp("explosions")
    with (
        Fuseki(folder / "fuseki", heap="192m") as fuseki,
        own_api(
            folder, base, fuseki.url, store, read_access="token", query_timeout="30"
        ) as api,
    ):
        sent = httpx.post(f"{fuseki.url}/twin/update", data={"update": graph.TWIN})
        assert sent.is_success, sent.text
        greedy, other = (
            api.add(name, TokenRole.READER) for name in ("greedy", "other")
        )
        yield Service(fuseki, api, greedy, other)


def code(answer: httpx.Response) -> str:
    return str(answer.json()["type"]).rpartition("/")[2]


def asked_meanwhile(service: Service, exploding: list[Future[httpx.Response]]) -> int:
    """Return how many small queries another client had answered."""
    number = 0
    while number < FEWEST or not all(one.done() for one in exploding):
        assert service.ask(SMALL, service.other).status_code == 200
        number += 1
    return number


@pytest.mark.parametrize(
    ("query", "number", "codes"),
    [
        (DOUBLINGS, 8, {"literal-too-long"}),
        (WAIT, 20, {"function-refused"}),
        (GROUPS, 2, {"too-much-memory"}),
        (SORT, 2, {"too-much-memory", "query-timeout"}),
    ],
    ids=["doublings", "waits", "groups", "sort"],
)
def test_exploding_queries_stop_only_themselves(
    service: Service, query: str, number: int, codes: set[str]
) -> None:
    with ThreadPoolExecutor(number) as pool:
        exploding = [
            pool.submit(service.ask, query, service.greedy) for _ in range(number)
        ]
        assert asked_meanwhile(service, exploding) >= FEWEST
    assert {code(one.result()) for one in exploding} <= codes
    # It exits if the heap is exhausted.
    assert service.fuseki.ended() is None
