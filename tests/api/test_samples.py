"""Samples over HTTP, by the IRI of their telemetry."""

from io import BytesIO

import httpx
import pyarrow as pa
import pytest
from pyarrow import parquet
from rdflib import URIRef

from ontology.terms import QUDT, UNIT
from tests.api.sample_answers import (
    CPU0,
    CPU1,
    FREE,
    PROCESS,
    RELEASE,
    SOSA,
    observations,
    read_arrow,
    rows,
)
from tests.api.servers import code_of

pytestmark = pytest.mark.filterwarnings("ignore:ConjunctiveGraph:DeprecationWarning")


def test_samples_are_observations_by_default(
    sampled: httpx.Client, base: str, span: dict[str, str]
) -> None:
    graph, found = observations(sampled.get(CPU0, params=span))
    values = {int(v) for v in graph.objects(None, SOSA.hasSimpleResult)}
    assert (values, len(found)) == ({18014398509481984}, 2)
    for one in found:
        thread, metric = (
            URIRef(f"{base}/{path}")
            for path in ("twin/n1/thread/0", "metric/kernel.percpu.cpu.user")
        )
        assert (one, SOSA.hasFeatureOfInterest, thread) in graph
        assert (one, SOSA.observedProperty, metric) in graph
        assert (one, QUDT.hasUnit, UNIT.MilliSEC) in graph
        assert (one, None, URIRef(base + CPU0)) in graph
        assert (one, SOSA.resultTime, None) in graph


@pytest.mark.parametrize(
    ("fn", "unit"), [("count", UNIT["NUM"]), ("rate", UNIT["PPTH"]), ("raw", None)]
)
def test_unit_is_that_of_the_function(
    sampled: httpx.Client, span: dict[str, str], fn: str, unit: URIRef | None
) -> None:
    graph, found = observations(sampled.get(CPU0, params={**span, "fn": fn}))
    expected = unit or UNIT["MilliSEC"]
    assert [graph.value(one, QUDT.hasUnit) for one in found] == [expected] * len(found)
    assert found


def test_telemetry_without_a_node_has_links(
    sampled: httpx.Client, base: str, span: dict[str, str]
) -> None:
    graph, (one,) = observations(sampled.get(FREE, params=span))
    assert graph.value(one, SOSA.hasFeatureOfInterest) == URIRef(f"{base}/twin/n1")
    graph, (one,) = observations(sampled.get(CPU1, params=span))
    assert str(graph.value(one, SOSA.hasFeatureOfInterest)).endswith("/thread/1")
    assert graph.value(one, QUDT.hasUnit) == UNIT["MilliSEC"]


def test_csv_has_time_and_value(sampled: httpx.Client, span: dict[str, str]) -> None:
    answer = sampled.get(FREE, params=span, headers={"Accept": "text/csv"})
    head, (time, value) = rows(answer)
    assert (head, value) == (["time", "value"], "0.1")
    assert len(time) == len("2026-11-18T00:00:00.000Z")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"


def test_texts_are_texts(sampled: httpx.Client, span: dict[str, str]) -> None:
    found = rows(sampled.get(RELEASE, params={**span, "format": "csv"}))
    assert [value for _, value in found[1:]] == ["6.1.0", "6.2.0"]
    body = sampled.get(RELEASE, params={**span, "format": "parquet"}).content
    table = parquet.read_table(BytesIO(body)).to_pydict()
    assert table["text"] == ["6.1.0", "6.2.0"] and table["value"] == [None, None]
    graph, _ = observations(sampled.get(RELEASE, params=span))
    assert {*map(str, graph.objects(None, SOSA.hasSimpleResult))} == {"6.1.0", "6.2.0"}


def test_parquet_and_arrow_have_the_same_table(
    sampled: httpx.Client, span: dict[str, str]
) -> None:
    types = {"parquet": "vnd.apache.parquet", "arrow": "vnd.apache.arrow.stream"}
    tables = {}
    for name, media_type in types.items():
        media_type = f"application/{media_type}"
        answer = sampled.get(CPU0, params=span, headers={"Accept": media_type})
        assert answer.headers["content-type"] == media_type
        read = parquet.read_table if name == "parquet" else read_arrow
        tables[name] = read(BytesIO(answer.content))
    assert tables["parquet"].equals(tables["arrow"])
    types_of = {field.name: field.type for field in tables["arrow"].schema}
    assert types_of == {"time": pa.timestamp("ms", "UTC"), "value": pa.float64()}
    assert tables["arrow"].num_rows == 2


def test_step_gives_averages(sampled: httpx.Client, span: dict[str, str]) -> None:
    query = {**span, "step": "1h", "format": "csv"}
    found = rows(sampled.get(PROCESS, params=query))
    assert [value for _, value in found[1:]] == ["3"]
    query |= {"fn": "quantile", "q": "0.5", "coverage": "true"}
    found = rows(sampled.get(PROCESS, params=query))
    assert found[0] == ["time", "value", "present", "expected", "why"]
    assert [row[1:3] for row in found[1:]] == [["", "0"], ["3", "1"]]


def test_window_over_the_range_has_its_end_as_time(
    sampled: httpx.Client, stored_at: float
) -> None:
    query = {"from": "1790000000", "fn": "count", "format": "csv"}
    end = f"{int(stored_at * 1000) / 1000:.3f}"
    _, (time, value) = rows(sampled.get(CPU0, params={**query, "to": end}))
    assert value == "2" and time.endswith(f".{end.rpartition('.')[2]}Z")


def test_last_value_needs_no_range(sampled: httpx.Client) -> None:
    _, (_, value) = rows(sampled.get(CPU1, params={"fn": "last", "format": "csv"}))
    assert value == "7"


def test_range_without_samples_is_empty(sampled: httpx.Client) -> None:
    query = {"from": "1970-01-01T00:00:00Z", "to": "1970-01-02T00:00:00Z"}
    assert rows(sampled.get(CPU0, params={**query, "format": "csv"})) == [
        ["time", "value"]
    ]
    assert observations(sampled.get(CPU0, params=query))[1] == []
    body = sampled.get(CPU0, params={**query, "format": "arrow"}).content
    assert read_arrow(BytesIO(body)).column_names == ["time", "value"]


def test_range_of_a_page_stays_a_page(sampled: httpx.Client) -> None:
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    times = {"from": "2026-11-18T00:00:00Z", "to": "2026-11-18T01:00:00Z"}
    page = sampled.get(CPU0, params=times, headers=browser)
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    data = sampled.get(CPU0, params={**times, "step": "1m"}, headers=browser)
    assert data.headers["content-type"] == "application/ld+json"


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ({"fn": "median"}, 400, "bad-samples-call"),
        ({"to": "now"}, 400, "bad-samples-call"),
        ({"from": "yesterday"}, 400, "bad-samples-call"),
        ({"from": "now-1x"}, 400, "bad-samples-call"),
        ({"from": "1969-01-01T00:00:00Z"}, 400, "bad-samples-call"),
        ({"from": "1e300"}, 400, "bad-samples-call"),
        ({"from": "now", "to": "now-1h"}, 400, "bad-samples-call"),
        ({"from": "now-1h", "step": "0"}, 400, "bad-samples-call"),
        ({"from": "now-1h", "step": "-1"}, 400, "bad-samples-call"),
        ({"from": "now-1h", "step": "-PT1M"}, 400, "bad-samples-call"),
        ({"from": "now-1h", "step": "2h"}, 400, "bad-samples-call"),
        ({"from": "now-1h", "step": '1m") } #'}, 400, "bad-samples-call"),
        ({"from": "now-1h", "step": "1m", "fn": "raw"}, 400, "bad-samples-call"),
        ({"from": "now-1h", "coverage": "true"}, 400, "bad-samples-call"),
        ({"from": "now-1h", "coverage": "yes"}, 400, "bad-samples-call"),
        ({"from": "now-1h", "fn": "quantile"}, 400, "bad-samples-call"),
        ({"from": "now-1h", "fn": "quantile", "q": "2"}, 400, "bad-samples-call"),
        ({"from": "now-1h", "fn": "avg", "q": "0.5"}, 400, "bad-samples-call"),
        ({"fn": "last", "from": "now-1h"}, 400, "bad-samples-call"),
        ({"from": "now-10y", "step": "1ms"}, 413, "too-many-samples"),
        ({"from": "now-1h", "format": "turtle"}, 406, "not-acceptable"),
        ({"format": "csv"}, 400, "bad-samples-call"),
        ({"from": "now-1h", "until": "now"}, 400, "unknown-parameter"),
    ],
)
def test_wrong_arguments_are_refused(
    sampled: httpx.Client, query: dict[str, str], status: int, code: str
) -> None:
    answer = sampled.get(CPU0, params=query)
    assert (answer.status_code, code_of(answer)) == (status, code), answer.text
    assert "\n" not in answer.json()["detail"]


def test_windows_of_texts_are_refused(sampled: httpx.Client) -> None:
    answer = sampled.get(RELEASE, params={"from": "now-1h", "fn": "avg"})
    assert (answer.status_code, code_of(answer)) == (400, "bad-samples-call")


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/twin/n9/telemetry/mem.util.free/~", "unknown-host"),
        ("/twin/n1/telemetry/no.metric/~", "unknown-metric"),
        ("/twin/n1/telemetry/kernel.percpu.cpu.user/cpu9", "unknown-instance"),
        ("/twin/n1/telemetry/other.metric/~", "not-exposed"),
    ],
)
def test_unknown_telemetry_is_404(sampled: httpx.Client, path: str, code: str) -> None:
    answer = sampled.get(path, params={"from": "now-1h"})
    assert (answer.status_code, code_of(answer)) == (404, code)


def test_store_that_is_away_is_503(api: httpx.Client) -> None:
    answer = api.get(CPU0, params={"from": "now-1h"})
    assert (answer.status_code, code_of(answer)) == (503, "store-away")
