"""PMU events of a remote host, counted by a private PMCD that is reached over sshd."""

import json
import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from api.access.tokens import TokenRole, add_token
from core.linux import pmapi
from core.linux.ssh.address import parse_address
from ingest.remote.ssh import connected
from sampling.events.live import absent_metrics
from tests.servers import wait_until
from tests.sshd import USER, Sshd
from tests.stack import Stack

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(os.geteuid() != 0, reason="an sshd of its own needs root"),
]

TSC, LOAD = "perfevent.hwcounters.msr.tsc.value", "kernel.all.load"
FAULTS = "perfevent.hwcounters.software.page_faults.value"


def refused(stack: Stack, *words: str) -> str:
    done = stack.run("sample", "add", "--host", "node9", *words, check=False)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    return done.stderr.splitlines()[-1]


def add(stack: Stack, plan: str, *words: str) -> None:
    asked = ("--host", "node9", "--plan", plan, "--period", "1s")
    stack.run("sample", "add", *words, *asked)


def plans(stack: Stack) -> set[str]:
    words = ("sample", "list", "--host", "node9", "--format", "json")
    return {row["plan"] for row in json.loads(stack.run(*words).stdout)}


def socket_of(stack: Stack) -> str:
    """Return the socket of the PMCD that counts the host's events, from the graph."""
    rows = stack.sparql(
        """PREFIX st: <https://w3id.org/supertwin/ns#>
        SELECT ?socket { ?node st:hostname "node9" ; st:perfeventSocket ?socket }"""
    )
    return rows[0][0] if rows else ""


@contextmanager
def forwarded(there: Sshd, socket: str) -> Iterator[str]:
    """Return a local address of a remote PMCD."""
    with connected(parse_address(there.url()), there.config) as connection:
        yield f"unix://{connection.forward(socket)}"


def counted(there: Sshd, socket: str, metric: str) -> bool:
    """Return whether the remote PMCD has values of a metric."""
    with forwarded(there, socket) as address:
        try:
            return not absent_metrics(address, [metric])
        except Exception:
            return False


def running(there: Sshd, folder: Path) -> dict[str, int]:
    """Return the pids of the keeper, PMCD and its agent in a remote folder."""
    found = {}
    for pid in there.processes():
        with suppress(OSError):
            name = Path(f"/proc/{pid}/comm").read_text().strip()
            place = Path(f"/proc/{pid}/cwd").readlink()
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
            if str(folder).encode() in words or place.is_relative_to(folder):
                found[name] = pid
    with suppress(OSError, ValueError):
        found["keeper"] = int((folder / "keeper").read_text())
    return found


def test_events_are_counted_on_the_remote_host(near: Stack, there: Sshd) -> None:
    near.run("add", there.url(), "--host", "node9")
    assert socket_of(near) == ""
    add(near, "one", "--event", "msr::tsc", LOAD)
    socket = socket_of(near)
    folder = Path(socket).parents[1]
    assert folder.parent == there.folder / "root/.supertwin"
    assert folder.stat().st_mode & 0o77 == 0
    with forwarded(there, socket) as address, pmapi.Context(address) as context:
        cpus = set(context.instances(context.describe(TSC).indom).values())
    assert cpus == {f"cpu{cpu}" for cpu in os.sched_getaffinity(0)}
    words = ("query", "telemetry/instances", "--host", "node9", "--metric", TSC)
    rows = json.loads(near.run(*words, "--format", "json").stdout)
    threads = {row["instname"]: row["component"].rpartition("/")[2] for row in rows}
    assert threads == {cpu: cpu.removeprefix("cpu") for cpu in cpus}

    # The local bridge fetches the event from there, and LOAD from the other PMCD.
    for name in ("msr::tsc", LOAD):
        asked = ("why", "node9", name)
        wait_until(lambda: near.run(*asked, check=False).returncode == 0, what=name)  # noqa: B023

    # The keeper restarts PMCD. After the keeper dies, `resume` starts both again.
    os.kill(running(there, folder)["pmcd"], signal.SIGKILL)
    wait_until(lambda: not (folder / "pmcd.pid").exists(), what="no number of it")
    wait_until(lambda: counted(there, socket, TSC), what="PMCD again")
    os.kill(running(there, folder)["keeper"], signal.SIGKILL)
    wait_until(lambda: "pmcd" not in running(there, folder), what="the end of PMCD")
    done = near.run("perfevent", "resume", "--host", "node9")
    assert done.stdout == "node9: 1 event counted\n"
    assert counted(there, socket, TSC)
    add(near, "two", "--event", "software::page-faults")
    assert counted(there, socket, FAULTS) and counted(there, socket, TSC)

    line = refused(near, "--event", "perf::PERF_COUNT_HW_CPU_CYCLES", "--period", "1s")
    assert re.search(r"HW_CPU_CYCLES: \S.* \(cpu\d+\) \[not-countable\]$", line)
    assert plans(near) == {"monitor", "one", "two"}
    wait_until(lambda: counted(there, socket, FAULTS), what="the configuration before")

    near.run("sample", "remove", "two", "--host", "node9")
    assert not counted(there, socket, FAULTS) and counted(there, socket, TSC)
    near.run("sample", "remove", "one", "--host", "node9")
    assert not folder.parent.exists()
    assert not running(there, folder) and socket_of(near) == ""

    add(near, "last", "--event", "msr::tsc")
    near.run("remove", "node9", "--yes")
    assert not folder.parent.exists() and not running(there, folder)


def test_events_are_counted_on_the_host_that_http_requests_name(
    near: Stack, there: Sshd
) -> None:
    """The API calls this in threads, where signals cannot be handled."""
    near.run("add", there.url(), "--host", "node9")
    token = add_token(near.home, "far", TokenRole.OPERATOR, None)
    headers = {"Authorization": f"Bearer {token}"}
    plan = {"host": "node9", "plan": "asked", "events": ["msr::tsc"], "period": "1s"}
    with httpx.Client(base_url=near.api, headers=headers, timeout=120) as client:
        answer = client.post("/plans", json=plan)
        assert answer.status_code == 201, answer.text
        assert counted(there, socket_of(near), TSC)
        assert client.delete("/plans/node9/asked").is_success
    assert socket_of(near) == ""
    events = ("--event", "msr::tsc", "--every", "100ms")
    done = near.run("observe", "--host", "node9", *events, "--", "sleep", "0.2")
    (iri,) = re.findall(r"completed after \S+ s: (\S+)", done.stderr)
    total = f"""PREFIX st: <https://w3id.org/supertwin/ns#>
    SELECT ?total {{ <{iri}> st:hasSummary/st:totalValue ?total }}"""
    wait_until(lambda: near.sparql(total), what="what was counted")
    assert all(float(ticks) > 0 for (ticks,) in near.sparql(total))


def test_missing_permission_on_a_remote_host_is_reported(
    near: Stack, there: Sshd
) -> None:
    level = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    near.run("add", "ssh://twin-node", "--host", "node9", "--no-sudo")
    if level > 0:
        line = refused(near, "--event", "msr::tsc", "--period", "1s")
        assert f"{USER}" in line or "twin-node" in line
        assert "kernel.perf_event_paranoid=0" in line
    assert "has no event nope of msr" in refused(
        near, "--event", "msr::nope", "--period", "1s"
    )
    assert plans(near) == {"monitor"}
    assert not list((there.folder / "home").glob(".supertwin*/node9*"))
