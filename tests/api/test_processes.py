"""Processes of this machine as twins, created on request."""

import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from rdflib import RDF, Graph, URIRef

from core.stores.endpoint import Endpoint
from ingest.named_processes import NamedProcess, forget_process, name_process
from ontology.iris import Iris
from ontology.terms import ST
from queries.catalogue import saved_query
from tests.api.servers import Api
from tests.servers import ENDS_WITH_US, Fuseki, Pmcd, VictoriaMetrics, wait_until

BASE = "http://n.example"
IRIS = Iris(BASE)
TWIN = f"""PREFIX st: <{ST}> INSERT DATA {{
  GRAPH <{BASE}/graph/twin/here> {{
    <{BASE}/twin/here> a st:ComputeNode ; st:hostname "here" ;
      st:resolvesAtFetch <{BASE}/indom/3.9> ;
      st:exposes <{BASE}/metric/proc.psinfo.pid>, <{BASE}/metric/proc.psinfo.utime> .
    <{BASE}/twin/away> a st:ComputeNode ; st:hostname "away" . }}
  GRAPH <{BASE}/graph/metrics> {{
    <{BASE}/indom/3.9> a st:InstanceDomain ; st:domainId "3.9" .
    <{BASE}/metric/proc.psinfo.pid> a st:Metric ;
      st:samplerName "proc.psinfo.pid" ;
      st:dbName "proc_psinfo_pid" ; st:semantics st:Instant ;
      st:instanceDomain <{BASE}/indom/3.9> .
    <{BASE}/metric/proc.psinfo.utime> a st:Metric ;
      st:samplerName "proc.psinfo.utime" ;
      st:dbName "proc_psinfo_utime" ; st:semantics st:Counter ;
      st:instanceDomain <{BASE}/indom/3.9> . }}
}}"""
TURTLE = {"Accept": "text/turtle"}
ENDED_PID = 4123456


class Here:
    """An API of this machine, and its stores."""

    def __init__(self, stack: ExitStack, folder: Path, fuseki: Fuseki) -> None:
        self.fuseki = fuseki
        self.store = stack.enter_context(VictoriaMetrics(folder / "store"))
        self.pmcd = stack.enter_context(Pmcd(folder / "pmcd"))
        self.twin = stack.enter_context(Endpoint(f"{self.fuseki.url}/twin"))
        self.twin.update(TWIN)
        self.api = stack.enter_context(
            Api(
                folder / "api",
                base=BASE,
                host="here",
                home=str(folder / "home"),
                fuseki_url=self.fuseki.url,
                store_read_url=self.store.url,
                pmcd=self.pmcd.address,
            )
        )

    def get(
        self, id_: str, host: str = "here", kind: str = "text/turtle"
    ) -> httpx.Response:
        url = f"{self.api.url}/twin/{host}/process/{id_}"
        return httpx.get(url, headers={"Accept": kind}, timeout=120)

    def rows(self, query: str) -> list[list[object]]:
        return self.twin.select(saved_query(query).bind({"host": "here"})).values()


@pytest.fixture(scope="module")
def here(
    emptied_fuseki: Fuseki, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Here]:
    with ExitStack() as stack:
        yield Here(stack, tmp_path_factory.mktemp("processes"), emptied_fuseki)


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([*ENDS_WITH_US, "sleep", "600.25"]) as process:
        command = Path(f"/proc/{process.pid}/cmdline")
        wait_until(lambda: command.read_bytes().startswith(b"sleep"))
        yield process
        process.kill()


def described(answer: httpx.Response) -> tuple[URIRef, Graph]:
    assert answer.status_code == 200, answer.text
    graph = Graph().parse(data=answer.text, format="turtle")
    return URIRef(answer.headers["content-location"]), graph


def test_running_process_is_described(
    here: Here, sleeper: subprocess.Popen[bytes]
) -> None:
    iri, graph = described(here.get(str(sleeper.pid)))
    assert iri.startswith(f"{BASE}/twin/here/process/{sleeper.pid}.")
    assert str(graph.value(iri, ST.commandLine)) == "sleep 600.25"
    assert str(graph.value(iri, ST.isPartOf)) == f"{BASE}/twin/here"
    assert set(graph.objects(iri, ST.mayRunOn)) == {
        IRIS.component("here", "thread", str(cpu)) for cpu in os.sched_getaffinity(0)
    }
    assert len(list(graph.subjects(ST.threadOf, iri))) == 1
    # The same under its own IRI, which no other process can ever have.
    again = here.get(iri.rpartition("/")[2])
    assert described(again)[0] == iri


def test_process_has_series(here: Here, sleeper: subprocess.Popen[bytes]) -> None:
    iri, graph = described(here.get(str(sleeper.pid)))
    series = set(graph.subjects(ST.ofComponent, iri))
    name = f"{sleeper.pid:06d} sleep"
    assert series == {
        IRIS.telemetry("here", metric, name)
        for metric in ("proc.psinfo.pid", "proc.psinfo.utime")
    }
    assert {graph.value(one, RDF.type) for one in series} == {ST.SWTelemetry}
    for one in series:
        path = one.removeprefix(BASE)
        assert httpx.get(here.api.url + path, timeout=120).status_code == 200
    sleeper.kill()
    sleeper.wait()
    answer = httpx.get(here.api.url + path, timeout=120)
    assert answer.json()["type"].endswith("unknown-instance")


def test_process_is_served_in_every_format(
    here: Here, sleeper: subprocess.Popen[bytes]
) -> None:
    found = here.get(str(sleeper.pid), kind="application/ld+json").json()["@graph"]
    assert [one["commandLine"] for one in found if one.get("commandLine")] == [
        "sleep 600.25"
    ]
    page = here.get(str(sleeper.pid), kind="text/html").text
    assert "sleep 600.25" in page and "<h1>sleep (" in page


def test_process_has_a_page(here: Here, sleeper: subprocess.Popen[bytes]) -> None:
    page = here.get(str(sleeper.pid), kind="text/html").text
    assert 'href="/twin/here"' in page
    assert f'{sleeper.pid} <span class="note">sleep</span>' in page
    assert "2 series that no plan samples" in page
    assert "/telemetry/proc.psinfo.utime/" in page


def test_ended_process_is_410(here: Here, sleeper: subprocess.Popen[bytes]) -> None:
    iri, _ = described(here.get(str(sleeper.pid)))
    sleeper.kill()
    sleeper.wait()
    for id_ in (str(sleeper.pid), iri.rpartition("/")[2]):
        answer = here.get(id_)
        assert answer.status_code == 410
        document = answer.json()
        assert f"process {sleeper.pid} (sleep) of here has ended" in document["detail"]
        seen = time.mktime(time.strptime(document["last_seen"], "%Y-%m-%dT%H:%M:%SZ"))
        assert abs(seen - time.mktime(time.gmtime())) < 30


def test_ended_process_is_found_by_its_series(here: Here) -> None:
    line = f'proc_psinfo_utime{{hostname="here",instname="{ENDED_PID} gone -x"}} 1 '
    at = int(time.time()) - 60
    httpx.post(
        f"{here.store.url}/api/v1/import/prometheus", content=f"{line}{at}000\n"
    ).raise_for_status()
    httpx.get(f"{here.store.url}/internal/force_flush").raise_for_status()
    answer = here.get(str(ENDED_PID))
    assert answer.status_code == 410
    written = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
    assert answer.json()["last_seen"] == written
    assert here.get(str(ENDED_PID)[:-1]).status_code == 404


@pytest.mark.parametrize(
    ("id_", "host", "code"),
    [
        ("4194303", "here", "unknown-process"),
        ("nobody", "here", "unknown-process"),
        ("1", "away", "process-elsewhere"),
        ("1", "nowhere", "unknown-host"),
        ("99999999999999", "here", "unknown-process"),
        ("1.1.00000000-0000-0000-0000-000000000000", "here", "unknown-process"),
    ],
)
def test_unknown_process_is_404(here: Here, id_: str, host: str, code: str) -> None:
    answer = here.get(id_, host)
    assert answer.status_code == 404
    assert answer.json()["type"].endswith(f"/{code}")


def test_name_follows_each_new_process(here: Here) -> None:
    # Another run of the tests on this machine has the same test.
    seconds = f"600.{os.getpid()}"
    pattern = f"^sleep {re.escape(seconds)}$"
    named = NamedProcess("my sleeper", pattern, "command")
    name_process(here.twin, IRIS, "here", named)
    pids = []
    for _ in range(2):
        with subprocess.Popen([*ENDS_WITH_US, "sleep", seconds]) as process:
            pids.append(process.pid)
            wait_until(lambda: here.rows("process/named")[0][4] == pids[-1])
            iri, graph = described(here.get("my~20sleeper"))
            bound = URIRef(str(graph.value(iri, ST.boundTo)))
            assert str(graph.value(bound, ST.commandLine)) == f"sleep {seconds}"
            process.kill()
        wait_until(lambda: here.rows("process/named")[0][4] is None)
    history = here.rows("process/bindings")
    assert [row[2] for row in history] == pids[::-1]
    assert all(row[3] < row[4] for row in history)  # type: ignore[operator]
    assert forget_process(here.twin, IRIS, "here", "my sleeper")
    for unknown in ("my sleeper", "", "\udcff"):
        assert not forget_process(here.twin, IRIS, "here", unknown)
    assert here.get("my~20sleeper").status_code == 404
    assert here.rows("process/bindings") == []
