"""Placements by live load: Fuseki reads the samples of the series store."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.watched import IDLE, SMALL, Watched, publish, small_document, watching
from tests.servers import Fuseki, VictoriaMetrics, wait_until

QUERY = "pinning/idle"
JSON = {"Accept": "application/sparql-results+json, application/json;q=0.5"}


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """A host of two cores with two threads each, in a Fuseki that knows the store."""
    folder = tmp_path_factory.mktemp("idle")
    with (
        VictoriaMetrics(folder / "store") as store,
        Fuseki(folder / "fuseki", store.url) as fuseki,
    ):
        publish(fuseki, small_document())
        with watching(folder, fuseki, store) as found:
            yield found


def write(sampled: Watched, idle: dict[int, float]) -> None:
    """Write the last eight seconds of idle time by CPU, as a share."""
    now = int(time.time())
    for cpu, share in idle.items():
        points = {now - age: (now - age) * 1000 * share for age in range(8)}
        sampled.write(IDLE, f"cpu{cpu}", points)


def ask(sampled: Watched, path: str = "/pin", **query: Any) -> Any:
    """The answer with samples up to now: the core of CPU 0 is half busy."""
    write(sampled, {0: 0.0, 1: 1.0, 2: 1.0, 3: 1.0})
    asked = {"host": SMALL, **query}
    return sampled.client.get(path, params=asked, headers=JSON).json()


def test_load_that_is_not_sampled(sampled: Watched) -> None:
    asked = {"host": SMALL, "threads": 3, "policy": "idle"}
    refused = sampled.client.get("/pin", params=asked)
    assert refused.status_code == 422
    assert refused.json()["type"].endswith("/no-such-place")
    assert "leave idle out" in refused.json()["detail"]


def test_idle_policy_reads_the_current_load(sampled: Watched) -> None:
    # CPU 1 is less busy than CPU 0.
    wait_until(
        lambda: ask(sampled, threads=3, policy="idle").get("cpus") == [2, 3, 1],
        what="the idle ones first",
    )
    found = ask(sampled, threads=3, policy="idle")
    assert (found["queries"][0]["name"], found["computed"]) == (QUERY, False)
    rows = ask(sampled, f"/queries/{QUERY}", threads=3)["results"]["bindings"]
    assert [row["cpu"]["value"] for row in rows] == ["2", "3", "1"]
    refused = ask(sampled, threads=5, policy="idle")
    assert "4 threads may be used, 5 asked" in refused["detail"]


def test_combination_with_idle_is_computed_from_the_load(sampled: Watched) -> None:
    asked = {"threads": 2, "policy": "idle+distinct:core"}
    wait_until(
        lambda: ask(sampled, **asked).get("cpus") == [2, 1],
        what="the idlest thread of each core",
    )
    found = ask(sampled, **asked)
    assert found["computed"]
    assert "and from the live load." in found["reason"]
