"""Agents of PCP that run while a plan needs them: BPF programs, and exporters."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from core.linux import pmapi
from tests.sampling.agents.exporter_server import exporter
from tests.servers import ENDS_WITH_US, wait_until
from tests.sshd import Sshd
from tests.stack import HOST, Stack

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root loads BPF programs"),
]

RUNQ, DISK = "bpf.runq.latency", "bpf.disk.all.latency"
LACKS_KPROBES = not Path("/sys/bus/event_source/devices/kprobe").exists()


@pytest.fixture
def agents(stack: Stack) -> Iterator[Stack]:
    """Remove all plans and exporters afterwards; then no agent runs."""
    yield stack
    rows = json.loads(stack.run("sample", "list", "--format", "json").stdout)
    for plan in {row["plan"] for row in rows} - {"monitor"}:
        stack.run("sample", "remove", plan)
    assert not running(stack)
    assert not list((stack.home / "agents").glob("*"))


def add(stack: Stack, plan: str, *words: str) -> subprocess.CompletedProcess[str]:
    return stack.run("sample", "add", *words, "--plan", plan, "--period", "500ms")


def refused(stack: Stack, *words: str) -> str:
    done = stack.run("sample", "add", *words, "--period", "1s", check=False)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    return done.stderr.splitlines()[-1]


def described(stack: Stack, *words: str) -> list[dict[str, Any]]:
    done = stack.run("agent", "list", *words, "--format", "json")
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def running(stack: Stack, *words: str) -> set[str]:
    return {row["agent"] for row in described(stack, *words) if row["running"]}


def socket_of(stack: Stack, host: str = HOST, agent: str = "bpf") -> str:
    """Return the socket of an agent's PMCD, from the graph."""
    words = ("query", "telemetry/agent-sockets", "--host", host, "--format", "json")
    rows = json.loads(stack.run(*words).stdout)
    return next((row["socket"] for row in rows if row["agent"] == agent), "")


def values(stack: Stack, metric: str, host: str = HOST) -> dict[str, float]:
    """Return the last values of a metric by instance, from the store."""
    series = f'{metric.replace(".", "_")}{{hostname="{host}"}}'
    answer = httpx.get(f"{stack.store}/api/v1/query", params={"query": series})
    return {
        row["metric"].get("instname", ""): float(row["value"][1])
        for row in answer.json()["data"]["result"]
    }


def points(stack: Stack, metric: str) -> list[int]:
    """Return the times (ms) of a metric's points in the store."""
    name = metric.replace(".", "_")
    answer = httpx.get(f"{stack.store}/api/v1/export", params={"match[]": name})
    lines = map(json.loads, answer.text.splitlines())
    return sorted(ms for line in lines for ms in line["timestamps"])


def why(stack: Stack, *words: str) -> tuple[str, str]:
    done = stack.run("why", *words, check=False)
    first, reason, *_ = done.stdout.splitlines()
    return first.partition(": ")[2], reason.strip()


def test_agent_runs_while_a_plan_needs_it(agents: Stack) -> None:
    verdict, reason = why(agents, RUNQ)
    assert verdict == "not planned" and f"sample add --host {HOST} {RUNQ}" in reason
    add(agents, "waits", RUNQ)
    assert running(agents) == {"bpf"}
    wait_until(lambda: sum(values(agents, RUNQ).values()), what="waits for a CPU")
    assert "8192-16383" in values(agents, RUNQ)
    wait_until(lambda: why(agents, HOST, RUNQ, "8192-16383")[0] == "data")
    # The other modules of the agent are not loaded.
    with pmapi.Context(f"unix://{socket_of(agents)}") as context:
        names = [name for name in context.names() if name.startswith("bpf.")]
    assert names == [RUNQ]
    assert (agents.home / "agents/bpf").stat().st_mode & 0o77 == 0
    # A second plan adds its modules.
    add(agents, "disks", DISK, "bpf.execsnoop.comm")
    wait_until(lambda: values(agents, DISK), what="the second module")
    # Their end removes the modules, and then the agent.
    agents.run("sample", "remove", "waits")
    with pmapi.Context(f"unix://{socket_of(agents)}") as context:
        assert RUNQ not in context.names()
    agents.run("sample", "remove", "disks")
    assert not running(agents) and socket_of(agents) == ""
    wait_until(lambda: "agent-bpf" not in agents.children(), what="its end")
    assert not (agents.home / "agents/bpf").exists()


@pytest.mark.skipif(not LACKS_KPROBES, reason="this kernel has kprobes")
def test_refused_module_changes_nothing(agents: Stack) -> None:
    add(agents, "waits", RUNQ)
    line = refused(agents, "bpf.oomkill.fpid", DISK)
    assert "bpf's oomkill cannot run: this kernel has no kprobes" in line
    assert line.endswith("[agent-refused]")
    with pmapi.Context(f"unix://{socket_of(agents)}") as context:
        assert RUNQ in context.names() and DISK not in context.names()
    wait_until(lambda: why(agents, HOST, RUNQ, "8192-16383")[0] == "data")
    assert running(agents) == {"bpf"}


def test_why_names_the_reason_of_each_agent_that_cannot_run(agents: Stack) -> None:
    done = agents.run("agent", "check", "--format", "json")
    rows = {row["module"]: row["result"] for row in json.loads(done.stdout)}
    assert rows["runqlat"] == "can run"
    asked = {
        "nvidia": "nvidia.gpuactive",
        "lustre": "lustre.llite.read_bytes",
        "gpfs": "gpfs.fsios.filesystems",
        "denki": "denki.rapl.rate",
        "smart": "smart.health",
        "lmsensors": "lmsensors.coretemp",
        "oomkill": "bpf.oomkill.fpid",
        "tcpconnlat": "bpf.tcpconnlat.lat",
    }
    absent = {name: rows[name] for name in asked if rows[name] != "can run"}
    assert len(absent) >= 5
    for name, reason in absent.items():
        verdict, line = why(agents, asked[name])
        assert verdict == "agent cannot run"
        assert line.endswith(f"cannot run on '{HOST}': {reason}")
        assert reason in refused(agents, asked[name]) or name == "tcpconnlat"


def test_unknown_metrics_of_agents_are_refused(agents: Stack) -> None:
    assert f"did you mean {RUNQ}" in refused(agents, "bpf.runq.latenzy")
    line = refused(agents, "openmetrics.none.heat")
    assert "`supertwin agent exporter add none URL`" in line
    assert not running(agents)


def test_bad_exporters_do_not_harm_good_ones(agents: Stack) -> None:
    heat = "openmetrics.good.heat"
    with exporter() as url:
        agents.run("agent", "exporter", "add", "good", f"{url}/good")
        agents.run("agent", "exporter", "add", "late", f"{url}/good")
        add(agents, "rooms", heat, "openmetrics.late.heat", "openmetrics.scrapes.reads")
        rooms = {"room=hall": 19.0, "room=attic": 30.0}
        wait_until(lambda: values(agents, heat) == rooms, what="the exporter")
        for page, result, reason in (
            ("hang", "hangs", "no answer within 0.4 s"),
            ("huge", "too long", "its answer is longer than"),
            ("moved", "status", "it answered with status 302"),
        ):
            # The exporter of a running plan misbehaves from now on.
            live = agents.home / "agents/openmetrics/agent/live/exporters.conf"
            lines = live.read_text().splitlines()
            bad = [one for one in lines if one.startswith("good ")]
            live.write_text("\n".join([*bad, f"late 500 {url}/{page}", ""]))
            counted = f"exporter=late,result={result}"
            wait_until(
                lambda: values(agents, "openmetrics.scrapes.reads").get(counted, 0),  # noqa: B023
                what=counted,
            )
            status = json.loads((live.parent / "status.json").read_text())
            assert reason in status["late"]["reason"]
            seen = len(points(agents, heat))
            wait_until(lambda: len(points(agents, heat)) > seen + 4, what="more points")  # noqa: B023
        agents.run("sample", "remove", "rooms")
        line = agents.run("agent", "exporter", "remove", "late").stdout
        assert line == f"late is removed from {HOST}\n"
        agents.run("agent", "exporter", "remove", "good")


def test_exporter_that_ends_is_named(agents: Stack) -> None:
    heat = "openmetrics.gone.heat"
    with exporter() as url:
        agents.run("agent", "exporter", "add", "gone", f"{url}/good")
        add(agents, "gone", heat)
        wait_until(lambda: why(agents, HOST, heat, "room=hall")[0] == "data")
        done = agents.run("agent", "exporter", "remove", "gone", check=False)
        assert "plan gone samples exporter gone" in done.stderr
    wait_until(lambda: why(agents, HOST, heat, "room=hall")[0] == "exporter down")
    reason = why(agents, HOST, heat, "room=hall")[1]
    assert reason.startswith(f"exporter gone at {url}/good: ")
    assert "Connection refused" in reason
    agents.run("sample", "remove", "gone")
    agents.run("agent", "exporter", "remove", "gone")


def test_agent_continues_after_a_restart_of_its_pmcd(agents: Stack) -> None:
    add(agents, "waits", RUNQ)
    wait_until(lambda: points(agents, RUNQ), what="the first points")
    child = agents.children()["agent-bpf"]
    os.kill(child["pid"], 9)
    wait_until(lambda: agents.children()["agent-bpf"]["restarts"] == 1)
    seen = points(agents, RUNQ)[-1]
    wait_until(lambda: points(agents, RUNQ)[-1] > seen, what="more points")


def test_exporters_continue_after_the_end_of_their_agent(agents: Stack) -> None:
    """PMCD starts it again, but takes no values from it."""
    with exporter() as url:
        agents.run("agent", "exporter", "add", "room", f"{url}/good")
        heat = "openmetrics.room.heat"
        add(agents, "room", heat)
        wait_until(lambda: points(agents, heat), what="the first points")
        pmcd = agents.children()["agent-openmetrics"]["pid"]
        children = Path(f"/proc/{pmcd}/task/{pmcd}/children").read_text("ascii")
        os.kill(int(children.split()[0]), 9)
        wait_until(lambda: agents.children()["agent-openmetrics"]["restarts"] == 1)
        seen = points(agents, heat)[-1]
        wait_until(lambda: points(agents, heat)[-1] > seen, what="more points")
        agents.run("sample", "remove", "room")
        agents.run("agent", "exporter", "remove", "room")


def test_agent_of_a_remote_host(near: Stack, there: Sshd) -> None:
    near.run("add", there.url(), "--host", "node9")
    done = near.run("agent", "check", "--host", "node9", "--format", "json")
    rows = {row["module"]: row["result"] for row in json.loads(done.stdout)}
    assert rows["runqlat"] == "can run"
    words = ("--host", "node9", "--plan", "waits", "--period", "1s")
    near.run("sample", "add", RUNQ, *words)
    folder = Path(socket_of(near, "node9")).parents[1]
    assert folder.parent == there.folder / "root/.supertwin"
    wait_until(
        lambda: sum(values(near, RUNQ, "node9").values()), what="waits for a CPU"
    )
    assert running(near, "--host", "node9") == {"bpf"}
    near.run("sample", "remove", "waits", "--host", "node9")
    assert not folder.exists() and socket_of(near, "node9") == ""


def test_remote_user_without_rights_is_refused(near: Stack) -> None:
    near.run("add", "ssh://twin-node", "--host", "node9")
    line = refused(near, RUNQ, "--host", "node9")
    assert "only root may load the BPF programs of PCP's bpf agent" in line


SERVE = """
from http.server import BaseHTTPRequestHandler, HTTPServer
class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'heat{room="cellar"} 12\\n')
HTTPServer(("127.0.0.1", 9900), Page).serve_forever()
"""


def test_exporter_on_the_loopback_of_a_remote_host(near: Stack, there: Sshd) -> None:
    near.run("add", "ssh://twin-node", "--host", "node9")
    inside = ("nsenter", "--net", "--target", str(there.pid))
    serve = [*ENDS_WITH_US, *inside, "/usr/bin/python3", "-c", SERVE]
    at = ("--host", "node9")
    with subprocess.Popen(serve, stderr=subprocess.DEVNULL) as process:
        try:
            url = "http://127.0.0.1:9900/metrics"
            near.run("agent", "exporter", "add", "cellar", url, *at)
            heat = "openmetrics.cellar.heat"
            near.run("sample", "add", heat, "--period", "1s", "--plan", "heat", *at)
            wait_until(
                lambda: values(near, heat, "node9") == {"room=cellar": 12.0},
                what="the exporter",
            )
            socket = socket_of(near, "node9", "openmetrics")
            assert socket.endswith("-openmetrics/run/pmcd.socket")
            near.run("sample", "remove", "heat", *at)
            assert not Path(socket).parents[1].exists()
        finally:
            process.terminate()
