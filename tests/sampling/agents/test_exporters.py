"""Which exporters can be added."""

from collections.abc import Iterator

import pytest

from core.stores.endpoint import Endpoint
from ontology.iris import Iris
from sampling.agents import exporters
from sampling.errors import ExporterError
from tests.sampling.agents.exporter_server import exporter
from tests.servers import Fuseki

BASE = "http://localhost:8000"
IRIS = Iris(BASE)


@pytest.fixture
def twin(fuseki: Fuseki) -> Iterator[Endpoint]:
    fuseki.empty()
    with Endpoint(f"{fuseki.url}/twin") as twin:
        node = f'<{IRIS.host("n1")}> a st:ComputeNode ; st:hostname "n1"'
        graph = f"GRAPH <{IRIS.twin_graph('n1')}> {{ {node} }}"
        prefix = "PREFIX st: <https://w3id.org/supertwin/ns#>"
        twin.update(f"{prefix} INSERT DATA {{ {graph} }}")
        yield twin


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("ftp://127.0.0.1/", "not a URL of http"),
        ("file:///etc/shadow", "not a URL of http"),
        ("http://", "not a URL of http"),
        ("http://127.0.0.1:99999/", "is not a URL"),
        ("http://127.0.0.1/a b", "not a URL of http"),
        ("http://127.0.0.1/\nx", "not a URL of http"),
        ("http://ana:secret@127.0.0.1/", "contains an account"),
        ("http://169.254.169.254/latest", "SUPERTWIN_EXPORTER_HOSTS"),
        ("http://127.0.0.1.example.org/", "SUPERTWIN_EXPORTER_HOSTS"),
    ],
)
def test_unusable_url_is_refused(url: str, why: str) -> None:
    with pytest.raises(ExporterError, match=why) as caught:
        exporters.check_url(url, ())
    assert caught.value.code == "bad-exporter"
    assert str(caught.value).isprintable() and "secret" not in str(caught.value)


def test_loopback_and_named_hosts_may_be_read() -> None:
    for host in ("127.0.0.1", "localhost", "[::1]"):
        exporters.check_url(f"http://{host}:9100/metrics", ())
    exporters.check_url("https://gw.example.org/metrics?x=1", ("gw.example.org",))


@pytest.mark.parametrize("name", ["", "a-b", "1a", "a.b", "../a", "scrapes", "control"])
def test_unusable_name_is_refused(name: str) -> None:
    with pytest.raises(ExporterError, match="cannot be the name of an exporter"):
        exporters.check_name(name)


def test_first_read_gives_metrics_and_what_was_left_out() -> None:
    with exporter() as url:
        found = exporters.read_once("room", f"{url}/good")
        assert found == (["openmetrics.room.heat"], 2, {})
        found = exporters.read_once("room", f"{url}/wrong")
        reasons = {"unknown type": 1, "bad line": 1, "duplicate series": 1}
        assert found.dropped == reasons
        with pytest.raises(ExporterError, match=r"^exporter room at .*status 302"):
            exporters.read_once("room", f"{url}/moved")


def test_exporter_is_replaced_and_removed(twin: Endpoint) -> None:
    for port in (9100, 9101):
        exporters.add("n1", "room", f"http://127.0.0.1:{port}/", (), twin, IRIS)
    assert exporters.exporters("n1", twin) == {"room": "http://127.0.0.1:9101/"}
    exporters.remove("n1", "room", twin, IRIS)
    assert not exporters.exporters("n1", twin)
    with pytest.raises(ExporterError, match="n1 has no exporter 'room'"):
        exporters.remove("n1", "room", twin, IRIS)
