"""The supervisor with real servers: killed ones restart, and `down` ends them all."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from core.linux.ports import open_files
from core.settings import audit
from tests.servers import ENDS_WITH_US, wait_until
from tests.supertwin.conftest import Servers, processes_of, running_servers

NAMES = ["fuseki", "victoria-metrics", "pmcd"]


def test_all_children_get_healthy_and_report_their_start_time(servers: Servers) -> None:
    for name in NAMES:
        child = servers.child(name)
        assert child["state"] == "healthy"
        assert child["seconds"] >= 0


@pytest.mark.parametrize("name", NAMES)
def test_killed_child_is_restarted(servers: Servers, name: str) -> None:
    before = servers.child(name)
    os.kill(before["pid"], signal.SIGKILL)

    def back() -> bool:
        child = servers.child(name)
        return child["state"] == "healthy" and child["pid"] != before["pid"]

    wait_until(back, what=f"{name} back")
    child = servers.child(name)
    assert child["restarts"] == before["restarts"] + 1
    assert child["reason"] == "was killed by SIGKILL"
    (*_, last) = (e for e in audit.events(servers.home) if e["thing"] == name)
    assert (last["who"], last["what"]) == ("supervisor", "child.restarted")
    assert last["outcome"] == child["reason"]


def test_fuseki_keeps_its_graphs_when_it_is_killed(servers: Servers) -> None:
    twin = f"{servers.fuseki}/twin"
    text = "INSERT DATA { GRAPH <urn:g> { <urn:kept> <urn:p> 1 } }"
    assert httpx.post(f"{twin}/update", data={"update": text}).status_code < 300
    os.kill(servers.child("fuseki")["pid"], signal.SIGKILL)
    ask = {"query": "ASK { <urn:kept> <urn:p> 1 }"}

    def answers() -> bool:
        try:
            return bool(httpx.post(f"{twin}/sparql", data=ask).json()["boolean"])
        except httpx.TransportError:
            return False

    wait_until(answers, what="the twin is there")


def test_status_prints_the_table(servers: Servers) -> None:
    wait_until(lambda: all(servers.child(n)["state"] == "healthy" for n in NAMES))
    done = servers.run("status")
    assert done.returncode == 0
    assert all(name in done.stdout for name in NAMES)
    assert '"healthy"' in servers.run("status", "--json").stdout


def test_fuseki_connects_to_no_other_address(servers: Servers) -> None:
    fuseki = servers.fuseki
    query = f"SELECT * {{ SERVICE <{fuseki}/history/sparql> {{ ?s ?p ?o }} }}"
    answer = httpx.post(f"{fuseki}/twin/sparql", data={"query": query})
    assert answer.status_code >= 400
    assert "service-refused" in answer.text


def test_fuseki_has_no_shacl_service(servers: Servers) -> None:
    for name in ("twin", "history"):
        url = f"{servers.fuseki}/{name}/shacl?graph=union"
        answer = httpx.post(url, headers={"Content-Type": "text/turtle"})
        assert answer.status_code == 404


def test_fuseki_compacts(servers: Servers) -> None:
    fuseki = servers.fuseki
    answer = httpx.post(f"{fuseki}/$/compact/twin", params={"deleteOld": "true"})
    assert answer.status_code == 200


def listening(pid: int) -> set[str]:
    """Return the addresses a process listens on, as in the kernel's tables."""
    opened = open_files(Path(f"/proc/{pid}"))
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            columns = line.split()
            if columns[3] == "0A" and f"socket:[{columns[9]}]" in opened:
                found.add(columns[1].partition(":")[0])
    return found


def test_servers_listen_on_loopback_only(servers: Servers) -> None:
    loopback = {"0100007F", "0000000000000000FFFF00000100007F"}
    for name in NAMES:
        addresses = listening(servers.child(name)["pid"])
        assert addresses
        assert addresses <= loopback


def test_killed_supervisor_leaves_nothing(tmp_path: Path) -> None:
    with running_servers(tmp_path) as servers:
        servers.process.kill()
        servers.process.wait()
        wait_until(lambda: not processes_of(tmp_path), what="all gone")
        assert "nothing" in servers.run("down").stdout
        assert servers.run("status").returncode == 1


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """Start a process that does not belong to the stack."""
    process = subprocess.Popen([*ENDS_WITH_US, "sleep", "600"])
    yield process
    process.kill()
    process.wait()


def test_down_stops_the_servers_and_nothing_else(
    tmp_path: Path, bystander: subprocess.Popen[bytes]
) -> None:
    with running_servers(tmp_path) as servers:
        done = servers.run("down")
        assert (done.returncode, done.stdout) == (0, "stopped\n")
        wait_until(lambda: not processes_of(tmp_path), what="all gone")
        assert servers.state["phase"] == "stopped"
        assert bystander.poll() is None
