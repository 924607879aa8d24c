"""Crates that are refused before anything is written."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from core.settings.settings import Settings
from core.stores.endpoint import Endpoint
from observations.errors import CrateError
from observations.exchange.crate import METADATA
from observations.exchange.import_ import import_run
from tests.bad_requests import BAD_REQUESTS
from tests.command_line import run
from tests.crates import unpacked
from tests.ports import free_port

_METADATA = json.dumps({"@graph": [{"@id": "./", "supertwinBase": "http://there"}]})
_GRAPH = """
@prefix st: <https://w3id.org/supertwin/ns#> .
@prefix prov: <http://www.w3.org/ns/prov#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<http://there/twin/n1> a st:ComputeNode ; st:hostname "n1" .
<http://there/metric/m> a st:Metric ; st:samplerName "m" ; st:dbName "m" .
<http://there/observation/a> a st:ObservationInterface ;
  st:ofHost <http://there/twin/n1> ; st:command "true" ;
  prov:startedAtTime "2026-11-01T09:00:00Z"^^xsd:dateTime ;
  prov:endedAtTime "2026-11-01T09:00:01Z"^^xsd:dateTime ;
  st:hasSummary <http://there/observation/a/summary/m/~> .
<http://there/observation/a/summary/m/~> a st:SeriesSummary ;
  st:summarises <http://there/twin/n1/telemetry/m/~> ;
  st:ofMetric <http://there/metric/m> ; st:sampleCount 1 .
"""
_HEADER = "series,hostname,instance,time_ms,value\n"
_START_MS = 1_793_523_600_000


@pytest.fixture
def nowhere(tmp_path: Path) -> Settings:
    """Stores that do not answer: the import must not contact them."""
    port = free_port()
    return Settings(home=tmp_path, fuseki_port=port, store_port=port)


def crate(graph: str = _GRAPH, series: str = _HEADER) -> dict[str, bytes]:
    return {
        METADATA: _METADATA.encode(),
        "observation.ttl": graph.encode(),
        "series.csv": series.encode(),
    }


def refused(settings: Settings, files: Mapping[str, bytes]) -> str:
    with (
        Endpoint(settings.fuseki + "/twin") as twin,
        pytest.raises(CrateError) as error,
    ):
        import_run(settings, twin, unpacked(settings.home / "crate", files))
    return str(error.value)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ("no turtle", "is not Turtle"),
        ("", "is of 0 runs"),
        (
            _GRAPH + "<http://there/observation/b> a st:ObservationInterface .",
            "is of 2 runs",
        ),
        (_GRAPH.replace("observation/a", "observation/~20"), "has no IRI of a run"),
        (_GRAPH.replace("/observation/a", "/twin/a"), "has no IRI of a run"),
        (_GRAPH + "[] a st:ComputeNode .", "a node without an IRI"),
        (
            _GRAPH + r"<http://there/x\u003E\u0020\u007D> a st:ComputeNode .",
            "has a malformed IRI",
        ),
        (_GRAPH.replace("prov:startedAtTime", "prov:atTime"), "no times of its run"),
    ],
)
def test_graph_without_a_run_is_refused(
    nowhere: Settings, graph: str, message: str
) -> None:
    assert message in refused(nowhere, crate(graph))


@pytest.mark.parametrize(
    ("series", "message"),
    [
        ("a,b\n1,2\n", "first line is not series,hostname,instance,time_ms,value"),
        (f"{_HEADER}m,n1,,{_START_MS},\n", "line 2 is not a sample"),
        (f"{_HEADER}m,n1,,{_START_MS},nan\n", "line 2 is not a sample"),
        (f"{_HEADER}m,n1,,soon,1\n", "line 2 is not a sample"),
        (f"{_HEADER}m,n1,,{_START_MS}\n", "line 2 is not a sample"),
        (f"{_HEADER}m,n2,,{_START_MS},1\n", "has m of n2"),
        (f"{_HEADER}m,n1,cpu0,{_START_MS},1\n", "has m of n1"),
        (f"{_HEADER}other,n1,,{_START_MS},1\n", "has other of n1"),
        (f"{_HEADER}m,n1,,{_START_MS - 1},1\n", "did not measure"),
    ],
)
def test_samples_of_another_run_are_refused(
    nowhere: Settings, series: str, message: str
) -> None:
    assert message in refused(nowhere, crate(series=series))


@pytest.mark.parametrize("name", ["observation.ttl", "series.csv"])
def test_missing_file_is_refused(nowhere: Settings, name: str) -> None:
    files = crate()
    del files[name]
    assert f"the crate has no {name}" in refused(nowhere, files)


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        (b'{"event": "refused", "reason": "x"}\n{"event', "line 2: a line is not JSON"),
        (
            b'{"event": "ended", "output": {"/tmp/x": {}}}\n',
            "line 1: a line is not an event of a runner",
        ),
    ],
)
def test_unknown_events_are_refused(
    nowhere: Settings, expected: bytes, message: str
) -> None:
    files = crate() | {"events.jsonl": expected}
    assert f"the crate's events.jsonl, {message}" in refused(nowhere, files)


@pytest.mark.parametrize("request_", BAD_REQUESTS, ids=lambda text: repr(text[:40]))
def test_invalid_request_is_refused(nowhere: Settings, request_: bytes) -> None:
    found = refused(nowhere, crate() | {"request.json": request_})
    assert found.startswith("the crate's request.json: ")


@pytest.mark.parametrize(
    "content",
    [
        b'{"@graph": []}',
        b'{"@graph": [{"supertwinBase": ["http://there"]}]}',
        b'{"@graph": ' + b"[" * 200_000,
    ],
    ids=lambda content: repr(content[:40]),
)
def test_metadata_of_another_crate_is_refused(
    nowhere: Settings, content: bytes
) -> None:
    files = crate() | {METADATA: content}
    assert METADATA in refused(nowhere, files)


def test_graph_too_large_for_memory_is_refused(nowhere: Settings) -> None:
    found = refused(nowhere, crate(_GRAPH + "#" * (32 << 20)))
    assert "observation.ttl has more than 32 MiB" in found


def test_command_refuses_an_invalid_crate_in_one_line(tmp_path: Path) -> None:
    folder, home = tmp_path / "crate", tmp_path / "home"
    unpacked(folder, crate() | {"request.json": b'{"argv": "true"}'})
    done = run({"SUPERTWIN_HOME": str(home)}, "import", "observation", str(folder))
    assert (done.returncode, done.stdout) == (2, "")
    expected = "not a request of a run: argv: Input should be a valid list"
    assert done.stderr == (
        f"supertwin: the crate's request.json: {expected} [bad-crate]\n"
    )
    assert list(home.iterdir()) == []
