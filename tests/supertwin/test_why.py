"""`supertwin why` with real servers: its text, its JSON and its exit status."""

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

import api.why
from supertwin.cli.why import lines
from tests.api.graph import TWIN
from tests.bridge_status import write_status
from tests.command_line import run
from tests.ports import free_port
from tests.supertwin.conftest import Servers

CPU = "kernel.percpu.cpu.user"
STATUS: dict[str, Any] = {"host": "n1", "pcp": {"connected": True}, "metrics": {}}


def lacking(metric: str, reason: str, detail: str) -> dict[str, Any]:
    """A part of a status: a metric without values."""
    return {"metrics": {metric: {"reason": reason, "detail": detail}}}


Why = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def why(servers: Servers, tmp_path: Path) -> Why:
    """Return the command, with a small twin, a stored series and a bridge status."""
    url, store = f"{servers.fuseki}/twin/update", servers.store
    httpx.post(url, data={"update": TWIN}).raise_for_status()
    now = int(time.time() * 1000)
    points = (
        f'kernel_percpu_cpu_user{{hostname="n1",instname="cpu0"}} 7 {now}\n'
        f'mem_util_free{{hostname="n1"}} 1 {now - 60_000}\n'
    )
    httpx.post(f"{store}/api/v1/import/prometheus", content=points).raise_for_status()
    httpx.get(f"{store}/internal/force_flush").raise_for_status()
    state = servers.home / "bridge"

    def ask(*words: str, bridge: dict[str, Any] = STATUS, **env: str) -> Any:
        write_status(state, bridge)
        given = {f"SUPERTWIN_{name.upper()}": value for name, value in env.items()}
        base = {"SUPERTWIN_BASE": "http://twin.example:8000"}
        return run(servers.env | base | given, "why", *words)

    return ask


def test_sampled_series_has_data(why: Why) -> None:
    done = why("n1", CPU, "cpu0")
    assert done.returncode == 0, done.stderr
    first, _, plan, value, series = done.stdout.splitlines()
    assert first == f"n1 {CPU} cpu0: data"
    assert plan.split() == ["plan", "monitor,", "every", "1", "s"]
    assert value.split()[:3] == ["last", "value", "7,"]
    assert series.endswith('kernel_percpu_cpu_user{hostname="n1",instname="cpu0"}')


@pytest.mark.parametrize(
    ("words", "host", "first"),
    [
        ([CPU, "cpu0", "--host", "n1"], "other", f"n1 {CPU} cpu0: data"),
        (["--host", "n1", CPU], "other", f"n1 {CPU}: data"),
        ([CPU], "n1", f"n1 {CPU}: data"),
    ],
)
def test_host_is_an_option_too(
    why: Why, words: list[str], host: str, first: str
) -> None:
    done = why(*words, host=host)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == first


@pytest.mark.parametrize(
    ("words", "bridge", "verdict", "message"),
    [
        (["n1", "kernel.percpu.cpu.usr"], {}, "unknown metric", f"is it '{CPU}'"),
        (["n9", CPU], {}, "unknown host", "n9"),
        (["n2", CPU], {}, "not exposed by host", "n2"),
        (["n1", CPU, "cpu7"], {}, "unknown instance", "cpu7"),
        (["n1", "mem.util.free"], {}, "plan removed", "any more; its last value is"),
        (["n1", "INST_RETIRED:ANY"], {}, "counter not on this PMU", "spr"),
        (["n1", "FLOPs"], {}, "counter not on this PMU", "the graph knows no PMU of"),
        (["n1", "msr::tsc"], {}, "counter not on this PMU", "the graph knows no PMU"),
        (["n1", "Flops"], {}, "unknown metric", "Flops"),
        (["n9", "FLOPs"], {}, "unknown host", "n9"),
        (["n1", "kernel.all.load"], {"host": "n7"}, "host not sampled", "n7"),
        (
            ["n1", "kernel.all.load"],
            {"queue": {"points": 5, "oldest_ms": 1}},
            "bridge behind",
            "5 points wait",
        ),
        (
            ["n1", "kernel.all.load"],
            {"queue": {"points": 5, "reason": "the log /log/1.log cannot be read"}},
            "log down",
            "points of n1 do not reach the store: the log /log/1.log cannot be read",
        ),
        (
            ["n1", "denied.metric"],
            lacking("denied.metric", "no permission", "No permission to perform"),
            "no permission",
            "No permission to perform",
        ),
        (
            ["n1", "broken.metric"],
            lacking("broken.metric", "agent down", "No PMCD agent for domain"),
            "agent down",
            "No PMCD agent",
        ),
    ],
)
def test_missing_data_has_a_reason(
    why: Why, words: list[str], bridge: dict[str, Any], verdict: str, message: str
) -> None:
    done = why(*words, bridge=STATUS | bridge)
    assert done.returncode == 1, done.stderr
    assert done.stdout.splitlines()[0] == f"{' '.join(words)}: {verdict}"
    assert message in done.stdout
    assert done.stderr == ""


def test_json_equals_that_of_the_api(why: Why) -> None:
    done = why("n1", "kernel.all.load", "--json")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found["verdict"] == "not yet sampled"
    assert found["plan"] == ["monitor"]
    assert found["selector"] == 'kernel_all_load{hostname="n1"}'


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "Missing argument 'METRIC'"),
        (["--host", "n1", CPU, "cpu0", "more"], "'more' is one word too many"),
        (["", CPU], "name"),
        (["n1", ""], "METRIC is empty"),
        (["n1", CPU, ""], "INSTANCE is empty"),
        (["n1", "\udcff"], "expected a text"),
    ],
)
def test_invalid_request_gives_one_line(
    why: Why, words: list[str], message: str
) -> None:
    done = why(*words)
    assert done.returncode == 2, done.stdout
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr


def test_unreachable_graph_store_gives_no_verdict(why: Why) -> None:
    done = why("n1", CPU, fuseki_url=f"http://127.0.0.1:{free_port()}")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "[graph-store-away]" in done.stderr


def test_unreachable_store_is_a_reason(why: Why) -> None:
    done = why("n1", CPU, store_read_url=f"http://127.0.0.1:{free_port()}")
    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == f"n1 {CPU}: store down"


def test_long_times_have_no_exponent() -> None:
    found = api.why.Why(
        host="n1",
        metric="m",
        instance=None,
        verdict="stale",
        reason="PMCD is unreachable.",
        plan=["slow"],
        period=1_000_000.0,
        selector="m",
        last_value=7,
        last_text=None,
        last_timestamp_ms=0,
        age_s=1_234_567.9,
        store_reason=None,
        duty_cycle=None,
    )
    listed = "\n".join(lines(found))
    assert "slow, every 1000000 s" in listed
    assert "7, 1234568 s ago" in listed
