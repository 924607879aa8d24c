"""A remote machine, from its address to its pages: a real sshd and a real stack."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from ingest.remote import collect
from tests.servers import wait_until
from tests.sshd import USER, Sshd
from tests.stack import HOST, Stack

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(os.geteuid() != 0, reason="an sshd of its own needs root"),
]


def test_added_address_gets_a_twin_with_pages(near: Stack, there: Sshd) -> None:
    done = near.run("add", there.url(), "--alias", "far", "--host", "node9")
    assert f"is the same machine as {HOST}" in done.stderr
    pages = [line.split() for line in done.stdout.splitlines() if "http" in line]
    assert [name for name, _ in pages] == ["page", "monitor", "inventory"]
    for _, address in pages:
        html = {"Accept": "text/html"}
        answer = httpx.get(address, headers=html, timeout=120, follow_redirects=True)
        assert (answer.status_code, "node9" in answer.text) == (200, True)
    assert near.get("/dashboards/monitor", "application/json", host="node9").json()
    for name in ("far", "node9", there.url(), f"{there.url()}:22"):
        assert near.run("open", name).stdout.startswith("node9 ("), name
        assert near.get("/open", name=name).headers["location"].endswith("/node9")
    planned = near.run("query", "telemetry/plan", "--host", "node9").stdout
    assert "kernel.percpu.cpu.user" in planned


def test_remote_machine_is_sampled(near: Stack, there: Sshd) -> None:
    near.run("add", there.url(), "--host", "node9")
    wait_until(lambda: _why(near, "kernel.all.pswitch")[0] == 0, what="a first value")
    wait_until(lambda: _why(near, "supertwin.bridge.points.expected")[0] == 0)
    assert near.bridge("node9")["pcp"]["address"] == there.url()
    line = re.compile(r"^node9: [\d,]+ expected = .*, clock [+-]", re.M)
    wait_until(lambda: line.search(near.status()), what="its clock")
    printed = near.status()
    assert "the last ticks of 2 hosts began within" in printed
    found = json.loads(near.status("--json"))
    assert found["hosts"]["node9"]["pcp"]["connected"]
    near.run("remove", "node9", "--history", "--yes")
    state = near.home / "bridge/status.json"
    wait_until(lambda: "node9" not in json.loads(state.read_text())["hosts"])


def _why(stack: Stack, metric: str) -> tuple[int, str]:
    done = stack.run("why", "node9", metric, check=False)
    return done.returncode, done.stdout


def test_remote_probe_without_and_with_root(near: Stack, there: Sshd) -> None:
    done = near.run("add", "ssh://twin-node", "--host", "node9")
    assert "nothing from memory_banks: dmidecode needs root" in done.stdout
    done = near.run("add", there.url(), "--host", "node9")
    assert "needs root" not in done.stdout


def test_manually_made_copy_is_loaded(near: Stack, tmp_path: Path) -> None:
    path = tmp_path / "machine.tar"
    with path.open("wb") as file:
        script = Path(collect.__file__)
        subprocess.run([sys.executable, script], stdout=file, check=True)
    near.run("ingest", "--collected", str(path), "--host", "node9")
    assert near.run("open", "node9").stdout.startswith("node9 (hostname)")


def test_failed_probe_leaves_nothing(near: Stack, there: Sshd) -> None:
    for address in (there.url("nobody9"), f"ssh://{USER}@{there.address}:9"):
        done = near.run("add", address, "--host", "node9", check=False)
        assert (done.returncode, done.stdout) == (2, "")
        assert len(done.stderr.splitlines()) == 1
    assert near.run("open", "node9", check=False).returncode == 2
