"""The samples of many series in one answer."""

from io import BytesIO
from typing import Any

import httpx
import pytest

from tests.api.sample_answers import (
    CPU0,
    CPU1,
    PROCESS,
    RELEASE,
    SOSA,
    observations,
    read_arrow,
    rows,
)
from tests.api.servers import code_of

pytestmark = pytest.mark.filterwarnings("ignore:ConjunctiveGraph:DeprecationWarning")

IRIS = [CPU0, CPU1, PROCESS, RELEASE]


def test_many_series_are_one_table(
    sampled: httpx.Client, base: str, span: dict[str, str]
) -> None:
    asked = {"telemetry": [base + path for path in IRIS], **span}
    found = rows(sampled.post("/samples?format=csv", json=asked))
    assert found[0] == ["telemetry", "time", "value"]
    named = [(name.removeprefix(base), value) for name, _, value in found[1:]]
    assert named == [
        *((CPU0, "18014398509481984"), (CPU0, "18014398509481984"), (CPU1, "7")),
        *((PROCESS, "3"), (RELEASE, "6.1.0"), (RELEASE, "6.2.0")),
    ]
    table = read_arrow(
        BytesIO(sampled.post("/samples?format=arrow", json=asked).content)
    )
    assert table["telemetry"].to_pylist() == [row[0] for row in found[1:]]
    assert table["value"].to_pylist()[2:] == [7, 3, None, None]


def test_order_is_that_of_the_list(
    sampled: httpx.Client, base: str, span: dict[str, str]
) -> None:
    asked = {"telemetry": [base + path for path in (PROCESS, CPU1, PROCESS)], **span}
    found = rows(sampled.post("/samples?format=csv", json=asked))
    assert [row[2] for row in found[1:]] == ["3", "7"]


def test_observations_of_many_series_have_their_own_links(
    sampled: httpx.Client, base: str
) -> None:
    paths = [CPU0, CPU1]
    asked = {"telemetry": [base + path for path in paths], "fn": "last"}
    graph, found = observations(sampled.post("/samples", json=asked))
    threads = {str(graph.value(one, SOSA.hasFeatureOfInterest))[-8:] for one in found}
    assert threads == {"thread/0", "thread/1"}


def test_saved_query_names_the_series(sampled: httpx.Client, base: str) -> None:
    asked = {
        "query": "telemetry/sampled",
        "parameters": {"host": "n1", "metric": "kernel.percpu.cpu.user"},
        **{"from": 1790000000, "fn": "count", "coverage": True},
    }
    answer = sampled.post("/samples?format=csv", json=asked)
    found = rows(answer)
    assert found[0] == ["telemetry", "time", "value", "present", "expected", "why"]
    ((name, _, value, present, *_),) = found[1:]
    assert (name, value, present) == (base + CPU0, "2", "2")


def test_saved_query_without_rows_gives_an_empty_table(sampled: httpx.Client) -> None:
    asked = {"query": "telemetry/sampled", "parameters": {"host": "n2"}, "fn": "last"}
    assert rows(sampled.post("/samples?format=csv", json=asked)) == [
        ["telemetry", "time", "value"]
    ]


@pytest.mark.parametrize(
    ("asked", "status", "code"),
    [
        ({"fn": "last"}, 400, "bad-samples-request"),
        ({"fn": "last", "telemetry": [], "query": "a/b"}, 400, "bad-samples-request"),
        ({"fn": "last", "query": "no/such"}, 404, "unknown-query"),
        ({"fn": "last", "query": "telemetry/metrics"}, 400, "bad-parameter"),
        (
            {"fn": "last", "query": "telemetry/sampled", "parameters": {"hots": "n1"}},
            *(400, "bad-parameter"),
        ),
        (
            {"fn": "last", "query": "telemetry/sampled", "parameters": {"host": "n9"}},
            *(404, "unknown-host"),
        ),
        ({"fn": "last", "telemetry": ["no iri"]}, 400, "bad-parameter"),
        ({"fn": "last", "telemetry": ["http://x/y> } #"]}, 400, "bad-parameter"),
        ({"fn": "last", "telemetry": ["http://x/y"]}, 400, "unknown-telemetry"),
        ({"fn": "last", "telemetry": [], "span": "1h"}, 422, "invalid-request"),
        ({"telemetry": [], "from": 1, "to": 0}, 400, "bad-samples-call"),
        ({"telemetry": [], "from": 1, "fn": "all"}, 400, "bad-samples-call"),
    ],
)
def test_wrong_requests_for_many_series_are_refused(
    sampled: httpx.Client, asked: dict[str, Any], status: int, code: str
) -> None:
    answer = sampled.post("/samples", json=asked)
    assert (answer.status_code, code_of(answer)) == (status, code), answer.text


def test_ten_years_of_milliseconds_are_refused(
    sampled: httpx.Client, base: str
) -> None:
    asked = {"telemetry": [base + CPU0], "from": "now-10y", "step": 0.001}
    answer = sampled.post("/samples", json=asked)
    assert (answer.status_code, code_of(answer)) == (413, "too-many-samples")
    # Its plan would have taken 315 million samples.
    answer = sampled.get(CPU0, params={"from": "now-10y"})
    assert (answer.status_code, code_of(answer)) == (413, "too-many-samples")
