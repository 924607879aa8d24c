"""Hosts added, found, compared and removed on the command line, on a real store."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from core.linux.lock import turn
from core.settings.audit import events
from core.settings.settings import Settings
from core.stores.endpoint import Endpoint
from ingest.loading import read_twin
from supertwin.cli.main import main
from tests.ingest.documents import document
from tests.servers import Fuseki
from tests.sshd import Sshd

Run = Callable[..., Result]
BANKS = [{"slot": f"DIMM_{letter}1", "size": 2**34} for letter in "AB"]
SERIALS = {"n1": "WM1", "n2": "WM2"}


@pytest.fixture
def run(before_fuseki: Fuseki, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return the command line, with empty datasets."""
    monkeypatch.setenv("SUPERTWIN_HOST", "here")
    return lambda *words: CliRunner().invoke(main, words)


def ingest(
    run: Run, folder: Path, host: str = "n1", day: int = 1, **facts: Any
) -> None:
    """Load the facts that a probe found on one day."""
    nic = {
        "name": "eno1",
        "virtual": False,
        "ipv4": f"10.0.0.{host[-1]}",
        "ipv6": [f"2001:db8::{host[-1]}"],
    }
    found = {
        "os": {"kernel": "6.1"},
        "board": {"board": {"serial": SERIALS.get(host)}},
        "lshw": {"memory_banks": facts.pop("banks", BANKS)},
        "nics": [nic],
        **facts,
    }
    stamps = {
        "started": f"2026-11-{day:02}T00:00:00Z",
        "ended": f"2026-11-{day:02}T00:00:02Z",
    }
    path = folder / "facts.json"
    path.write_text(json.dumps(document(found, host) | stamps))
    done = run("ingest", "--probe", str(path))
    assert done.exit_code == 0, done.output


def test_changes_are_printed_as_a_table(run: Run, tmp_path: Path) -> None:
    ingest(run, tmp_path)
    assert "it is one state" in run("diff", "n1").output
    ingest(run, tmp_path, day=2, os={"kernel": "6.2"})
    ingest(run, tmp_path, day=3, os={"kernel": "6.2"}, banks=BANKS[:1])
    assert run("diff", "n1").output.splitlines()[3:] == [
        "vanished  memory/DIMM_B1  MemoryBank                 "
        "2026-11-03T00:00:02+00:00  20261103T000000Z",
        "(1 row)",
    ]
    rows = run("diff", "n1", "2026-11-01T12:00").output.splitlines()[3:]
    assert [row.split()[:4] for row in rows] == [
        ["changed", "host", "kernelRelease", "6.1"],
        ["vanished", "memory/DIMM_B1", "MemoryBank", "2026-11-03T00:00:02+00:00"],
        ["(2", "rows)"],
    ]
    listed = json.loads(run("diff", "n1", "1", "2", "--json").stdout)
    assert (listed["from"]["number"], listed["to"]["number"]) == (1, 2)
    (change,) = listed["changes"]
    assert (change["before"], change["after"], change["state"]) == (["6.1"], ["6.2"], 2)
    ingest(run, tmp_path, day=4)
    assert "nothing differs" in run("diff", "n1", "1").output


MENDABLE = [
    (["diff", "n9"], "no host 'n9'; near: n1"),
    (["diff", "n1", "soon"], "'soon' is not a state, probe or time of n1"),
    (["diff", "n1", "2025-01-01"], "n1 was first seen at 2026-11-01"),
    (["open", "n9"], "no host 'n9'; near: n1"),
    (["open", "ssh://x@nowhere"], "no host"),
    (["remove", "n1"], "give --yes"),
    (["forget", "20261121T080000Z-aaaaaa"], "give --yes"),
    (["process", "forget", "slurmd"], "give --yes"),
    (["remove", "n9", "--yes"], "[unknown-host]"),
    (["add", "n9"], "[bad-address]"),
    (["add", "ssh://a:b@n9"], "[bad-address]"),
    (["add", "ssh://a@n9", "--alias", "n1"], "[alias-exists]"),
    (["add", "ssh://a@n9", "--alias", "a b"], "[bad-host-name]"),
]


def test_user_errors_give_one_line(run: Run, tmp_path: Path) -> None:
    ingest(run, tmp_path)
    for words, message in MENDABLE:
        done = run(*words)
        assert (done.exit_code, len(done.stderr.splitlines())) == (2, 1), done.output
        assert message in done.stderr
    assert run("open", "n1").exit_code == 0


def test_host_is_found_by_any_name(run: Run, tmp_path: Path) -> None:
    for host in ("n1", "n2"):
        ingest(run, tmp_path, host)
    found = {
        name: run("open", name).output.splitlines()[0]
        for name in ("n2", "10.0.0.2", "2001:DB8:0::2", "ssh://ana@10.0.0.2:2222")
    }
    assert found == {
        "n2": "n2 (hostname)",
        "10.0.0.2": "n2 (IPv4)",
        "2001:DB8:0::2": "n2 (IPv6)",
        "ssh://ana@10.0.0.2:2222": "n2 (IPv4)",
    }
    lines = run("open", "n1").output
    assert "IRI         http://localhost:8000/twin/n1" in lines
    assert "last probe  2026-11-01T00:00:00" in lines
    ingest(run, tmp_path, "n2", 2, nics=[{"name": "eno1", "ipv4": "10.0.0.1"}])
    done = run("open", "10.0.0.1")
    assert (done.exit_code, done.stderr) == (
        2,
        "supertwin: 10.0.0.1 is of 2 hosts (n1, n2): name one [several-hosts]\n",
    )


def test_removed_host_keeps_its_history(run: Run, tmp_path: Path) -> None:
    ingest(run, tmp_path)
    ingest(run, tmp_path, day=2, os={"kernel": "6.2"})
    assert run("remove", "n1", "--yes").output == "n1 is removed\n"
    assert run("open", "n1").exit_code == 2
    assert "kernelRelease" in run("diff", "n1").output
    ingest(run, tmp_path, day=3, os={"kernel": "6.3"})
    assert "6.2" in run("diff", "n1").output
    assert run("remove", "n1", "--yes", "--history").exit_code == 0
    assert run("diff", "n1").exit_code == 2


def test_concurrent_writers_of_a_host_are_serialised(run: Run, tmp_path: Path) -> None:
    ingest(run, tmp_path)
    words = [sys.executable, "-m", "supertwin", "remove", "n1", "--yes"]
    with turn(tmp_path / "turns", pytest.fail, "n1"):
        other = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        assert other.stderr
        assert other.stderr.readline() == (
            "another command writes n1: waiting until it is done\n"
        )
        assert run("open", "n1").exit_code == 0
    assert other.wait(120) == 0
    other.stderr.close()
    assert run("open", "n1").exit_code == 2


def test_fleet_queries_cover_all_hosts_and_others_the_local_one(
    run: Run, tmp_path: Path
) -> None:
    def hosts(*words: str) -> list[str]:
        rows = json.loads(run("query", *words, "--format", "json").stdout)
        return [row["host"] for row in rows]

    ingest(run, tmp_path, "n1", os={"kernel": "6.1"})
    ingest(run, tmp_path, "n2", os={"kernel": "6.1"})
    ingest(run, tmp_path, "n3", os={"kernel": "6.2"})
    kernel = ("fleet/drift", "--property", "kernel")
    assert hosts(*kernel) == ["n3"]
    assert hosts(*kernel, "--host", "n1") == []
    assert hosts("inventory/hosts") == ["n1", "n2", "n3"]
    assert hosts("inventory/system") == []
    assert set(hosts("inventory/system", "--host", "")) == {"n1", "n2", "n3"}


def test_queries_know_removed_hosts_by_history_and_runs(
    run: Run, tmp_path: Path, before_fuseki: Fuseki
) -> None:
    for host in ("n1", "n2"):
        ingest(run, tmp_path, host)
    with Endpoint(f"{before_fuseki.url}/twin") as twin:
        twin.update(_run_of("n7"))
    assert run("remove", "n2", "--yes").exit_code == 0
    for name, host, text in (
        ("history/changes", "n2", ""),
        ("history/states", "n2", "n2"),
        ("observations/runs", "n7", "sleep 1"),
        ("observations/outliers", "n7", ""),
        ("cache/sharing", "n1", ""),
    ):
        done = run("query", name, "--host", host)
        assert done.exit_code == 0 and text in done.stdout, (name, done.output)
    for name in ("inventory/cpu", "fleet/drift", "observations/runs", "history/states"):
        done = run("query", name, "--host", "n9")
        assert done.exit_code == 2, name
        assert done.stderr == ("supertwin: no host 'n9'; near: n1 [unknown-host]\n")


def _run_of(host: str) -> str:
    return f"""
PREFIX st: <https://w3id.org/supertwin/ns#>
INSERT DATA {{ GRAPH <x:g> {{
  <x:run> a st:ObservationInterface ; st:ranOn "{host}" ; st:ofHost <x:{host}> ;
    st:command "sleep 1" ; <http://www.w3.org/ns/prov#startedAtTime> 1 .
}} }}"""


@pytest.mark.parametrize("name", ["", "..", "\udcff"])
def test_invalid_host_name_is_unknown(run: Run, name: str) -> None:
    for words in (("diff", name), ("remove", name, "--yes"), ("open", name)):
        done = run(*words)
        assert done.exit_code == 2, done.output
        assert "[unknown-host]" in done.stderr


def test_graphs_of_runs_and_groups_are_not_catalogues(
    run: Run, tmp_path: Path, before_fuseki: Fuseki
) -> None:
    ingest(run, tmp_path)
    here = read_twin(Settings(), "n1")
    assert here
    with Endpoint(f"{before_fuseki.url}/twin") as twin:
        for kind, more in (("cgroups", 0), ("observation", 0), ("pmu", 1)):
            graph = f"{Settings().base}/graph/{kind}/x"
            twin.update(f"INSERT DATA {{ GRAPH <{graph}> {{ <x:a> <x:b> 1 }} }}")
            now = read_twin(Settings(), "n1")
            assert now and now.shared == here.shared + more, kind


def test_local_machine_can_be_added_twice(run: Run) -> None:
    probes: list[int] = []
    # Another test may change this machine between two probes, which adds a state.
    while max(probes, default=0) < 2 and sum(probes) < 4:
        done = run("add", "local", "--alias", "desk", "--partition", "desks")
        assert done.exit_code == 0, done.output
        states = run("query", "history/states", "--format", "json").stdout
        probes = [state["probes"] for state in json.loads(states)]
    assert max(probes) == 2
    assert "http://localhost:8000/twin/here" in done.output
    assert run("open", "desk").output.startswith("here (alias)")


@pytest.mark.skipif(os.geteuid() != 0, reason="an sshd of its own needs root")
def test_remote_machine_is_added(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with Sshd() as there:
        monkeypatch.setenv("SUPERTWIN_SSH_CONFIG", str(there.config))
        done = run("add", there.url(), "--alias", "far", "--host", "node9")
        assert done.exit_code == 0, done.output
        for name in ("far", "node9", there.url(), f"{there.url()}:22"):
            assert run("open", name).output.startswith("node9 ("), name
        # its address is known, so it keeps its name; and it is this very machine
        assert run("add", there.url()).exit_code == 0
        other = run("add", "local")
        assert "here is the same machine as node9" in other.stderr
    gone = run("add", "ssh://root@127.0.0.1:1", "--host", "gone", "--alias", "lost")
    assert gone.exit_code in (1, 2)
    assert len(gone.stderr.splitlines()) == 1
    assert run("open", "gone").exit_code == run("open", "lost").exit_code == 2


def test_names_of_processes_are_in_the_audit_trail(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUPERTWIN_HOST", "n1")
    ingest(run, tmp_path)
    for words in (["name", "web", "--match", "nginx"], ["forget", "web", "--yes"]):
        done = run("process", *words)
        assert done.exit_code == 0, done.output
    assert run("process", "forget", "web", "--yes").exit_code == 2
    found = [(event["what"], event["thing"]) for event in events(Settings().home)]
    assert found == [
        ("host.added", "n1"),
        ("process.named", "n1 web"),
        ("process.forgotten", "n1 web"),
    ]
