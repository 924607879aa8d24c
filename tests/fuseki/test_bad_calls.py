"""Wrong arguments and a store that is away are errors with a code."""

import json
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import httpx
import pytest

from core.settings import tools
from core.stores.endpoint import Endpoint
from core.stores.errors import EndpointError, SeriesAwayError
from core.stores.sparql_dataset import Answer
from tests.api import graph
from tests.fuseki.samples import CPU0, FREE, RELEASE, Samples
from tests.ports import LOOPBACK, free_port
from tests.servers import Fuseki, VictoriaMetrics

LAST_HOUR = '"now-1h" "now"'


def code_of(samples: Samples, pattern: str) -> str:
    with pytest.raises(EndpointError) as caught:
        samples.rows(pattern)
    assert "\n" not in str(caught.value)
    return caught.value.code


@pytest.mark.parametrize(
    "pattern",
    [
        "?t st:last (?value)",
        f"{CPU0} st:last ?value",
        f"{CPU0} st:last (?value ?time ?age ?more)",
        f"{CPU0} st:avg ({LAST_HOUR})",
        f"{CPU0} st:avg ({LAST_HOUR} ?value ?present)",
        f"{CPU0} st:rawSamples ({LAST_HOUR} ?value)",
        f'{CPU0} st:avg ("now" "now-1h" ?value)',
        f'{CPU0} st:avg ("now" "now" ?value)',
        f'{CPU0} st:avg ("yesterday" "now" ?value)',
        f'{CPU0} st:avg (?start "now" ?value)',
        f'{CPU0} st:avg ("now-1x" "now" ?value)',
        f'{CPU0} st:avg (-5 "now" ?value)',
        f'{CPU0} st:avg (1e300 "now" ?value)',
        f'{CPU0} st:avg ({LAST_HOUR} "0s" ?time ?value)',
        f"{CPU0} st:avg ({LAST_HOUR} 0 ?time ?value)",
        f"{CPU0} st:avg ({LAST_HOUR} -1 ?time ?value)",
        f'{CPU0} st:avg ({LAST_HOUR} "2h" ?time ?value)',
        f'{CPU0} st:avg ({LAST_HOUR} "1m\\"" ?time ?value)',
        f"{CPU0} st:quantile (1.5 {LAST_HOUR} ?value)",
        f'{CPU0} st:quantile ("half" {LAST_HOUR} ?value)',
        f"{FREE} st:rate ({LAST_HOUR} ?value)",
        f"{RELEASE} st:avg ({LAST_HOUR} ?value)",
    ],
)
def test_wrong_arguments_are_refused(samples: Samples, pattern: str) -> None:
    assert code_of(samples, pattern) == "bad-samples-call"


@pytest.mark.parametrize(
    "telemetry",
    [
        "<http://elsewhere.example/>",
        "t:no.such.metric/~",
        "t:kernel.percpu.cpu.user/cpu9",
        "t:kernel.percpu.cpu.user/~",
        "t:mem.util.free/cpu0",
        "t:other.metric/~",
    ],
)
def test_unknown_telemetry_is_refused(samples: Samples, telemetry: str) -> None:
    iri = telemetry.replace("/", "\\/")
    iri = telemetry if telemetry.startswith("<") else iri.replace("~", "\\~")
    assert code_of(samples, f"{iri} st:last (?value)") == "unknown-telemetry"


def test_quote_in_the_iri_of_a_function_is_a_syntax_error(samples: Samples) -> None:
    function = '<https://w3id.org/supertwin/ns#avg">'
    assert code_of(samples, f"{CPU0} {function} (1 2 ?value)") == "syntax-error"


def test_too_many_samples_of_a_series_are_refused(samples: Samples) -> None:
    years = '"1990-01-01T00:00:00Z"^^xsd:dateTime "2000-01-01T00:00:00Z"^^xsd:dateTime'
    pattern = f'{CPU0} st:avg ({years} "1ms" ?time ?value)'
    assert code_of(samples, pattern) == "too-many-samples"
    pattern = f"{CPU0} st:rawSamples ({years} ?time ?value)"
    assert code_of(samples, pattern) == "too-many-samples"


@pytest.mark.parametrize(
    "call",
    [
        'st:avg ("now-10y" "now" "1ms" ?time ?value)',
        'st:rawSamples ("now-10y" "now" ?time ?value)',
    ],
)
def test_too_many_samples_are_refused_before_a_request(
    fuseki: Fuseki, call: str
) -> None:
    # It has no series store, so any request would be another error.
    with Endpoint(f"{fuseki.url}/twin") as dataset:
        dataset.update(graph.TWIN)
    alone = Samples(f"{fuseki.url}/twin", 0)
    assert code_of(alone, f"{CPU0} {call}") == "too-many-samples"


@pytest.mark.parametrize("keyword", ["FILTER EXISTS", "LATERAL"])
def test_call_for_each_row_is_refused(samples: Samples, keyword: str) -> None:
    numbers = " ".join(map(str, range(200)))
    rows = f"VALUES ?n {{ {numbers} }} VALUES ?t {{ {CPU0} }}"
    pattern = f"{rows} {keyword} {{ ?t st:last (?value) FILTER (?value != 0) }}"
    assert code_of(samples, pattern) == "bad-samples-call"


def test_error_in_a_filter_is_not_an_empty_answer(samples: Samples) -> None:
    pattern = "VALUES ?t { <urn:x> } FILTER EXISTS { ?t st:last (?value) }"
    assert code_of(samples, pattern) == "unknown-telemetry"


def test_missing_series_store_is_an_error(tmp_path: Path) -> None:
    store = f"http://{LOOPBACK}:{free_port()}"
    with Fuseki(tmp_path, store) as alone:
        with Endpoint(f"{alone.url}/twin") as dataset:
            dataset.update(graph.TWIN)
        samples = Samples(f"{alone.url}/twin", 0)
        assert code_of(samples, f"{CPU0} st:last (?value)") == "store-away"


def test_extension_for_another_version_ends_fuseki(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jar = tmp_path / "extension.jar"
    with ZipFile(tools.fuseki_extension()) as ours, ZipFile(jar, "w") as other:
        for name in ours.namelist():
            is_version = name.endswith("jena-version")
            other.writestr(name, "5.5.0" if is_version else ours.read(name))
    monkeypatch.setattr(tools, "fuseki_extension", lambda: jar)
    server = Fuseki(tmp_path / "fuseki")
    with pytest.raises(AssertionError, match=r"built for Jena 5\.5\.0"), server:
        pass
    lines = [line for line in server.output().splitlines() if "NOTE" not in line]
    assert len(lines) == 1


def test_incomplete_answer_of_the_store_is_an_error(
    tmp_path: Path, server: Fuseki
) -> None:
    start, count = 1_700_000_000_000, 1_000_000
    with VictoriaMetrics(tmp_path / "store", "-retentionPeriod=100y") as store:
        fill(store, start, count)
        with Fuseki(tmp_path / "fuseki", store.url) as own:
            httpx.post(f"{own.url}/twin/update", data={"update": graph.TWIN})
            span = f"{start // 1000} {(start + count) // 1000}"
            content = bytearray()
            for piece in answer_of(own, f"{FREE} st:rawSamples ({span} ?time ?value)"):
                store.clean()
                content += piece
    received = Answer(200, "text/csv", bytes(content))
    assert content.startswith(b"time,value")
    with pytest.raises(SeriesAwayError), Endpoint(f"{server.url}/twin") as dataset:
        dataset.body(received, "text/csv")


def fill(store: VictoriaMetrics, start: int, count: int) -> None:
    labels, step = {"__name__": "mem_util_free", "hostname": "n1"}, 10_000
    lines = []
    for first in range(start, start + count, step):
        times = list(range(first, first + step))
        points = {"metric": labels, "values": [0.5] * step, "timestamps": times}
        lines.append(json.dumps(points))
    url = f"{store.url}/api/v1/import"
    httpx.post(url, content="\n".join(lines), timeout=60).raise_for_status()
    httpx.get(f"{store.url}/internal/force_flush").raise_for_status()


def answer_of(fuseki: Fuseki, pattern: str) -> Iterator[bytes]:
    query = f"PREFIX st: <https://w3id.org/supertwin/ns#> SELECT * {{ {pattern} }}"
    url, accept = f"{fuseki.url}/twin/sparql", {"Accept": "text/csv"}
    form = {"query": query}
    with httpx.stream("POST", url, data=form, headers=accept, timeout=120) as answer:
        yield from answer.iter_raw()
