"""Scripts of bpftrace, from `agent script add` to the series of their maps."""

import json
import os

import pytest

from core.linux import pmapi
from tests.e2e.test_agents import (
    add,
    agents,
    refused,
    running,
    socket_of,
    values,
    why,
)
from tests.servers import wait_until
from tests.sshd import Sshd
from tests.stack import HOST, Stack

__all__ = ["agents"]
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root runs scripts"),
]

SWITCH = "tracepoint:sched:sched_switch"
TEXT = f"{SWITCH} {{ @all = count(); @by[args->next_comm] = count(); }}"
ALL, BY = "bpftrace.scripts.sched.data.all", "bpftrace.scripts.sched.data.by"


def script(stack: Stack, *words: str) -> str:
    done = stack.run("agent", "script", *words, check=False)
    assert done.returncode in (0, 2), done.stderr
    return done.stdout if not done.returncode else done.stderr.splitlines()[-1]


def test_script_runs_while_a_plan_needs_it(agents: Stack) -> None:
    told = script(agents, "add", "sched", "--text", TEXT)
    assert told == f"sched is a script of {HOST}\n{ALL}\n{BY}\n"
    assert not running(agents)
    verdict, reason = why(agents, ALL)
    assert verdict == "not planned" and f"sample add --host {HOST} {ALL}" in reason
    add(agents, "sched", ALL, BY)
    assert running(agents) == {"bpftrace"}
    wait_until(lambda: values(agents, ALL).get("", 0) > 100, what="switches")
    wait_until(lambda: len(values(agents, BY)) > 3, what="switches by name")
    assert why(agents, HOST, ALL)[0] == "data"
    line = script(agents, "remove", "sched")
    assert "plan sched samples script sched" in line and "[bad-script]" in line
    line = script(agents, "add", "sched", "--text", f"{SWITCH} {{ @a = count(); }}")
    assert "plan sched samples script sched" in line
    # A second script leaves the first one's values; the end of its plan ends it.
    script(agents, "add", "faults", "--text", "software:faults:1 { @n = count(); }")
    faults = "bpftrace.scripts.faults.data.n"
    add(agents, "faults", faults)
    wait_until(lambda: values(agents, faults).get("", 0) > 1, what="page faults")
    with pmapi.Context(f"unix://{socket_of(agents, agent='bpftrace')}") as context:
        assert {ALL, BY, faults} <= {*context.names()}
    agents.run("sample", "remove", "sched")
    with pmapi.Context(f"unix://{socket_of(agents, agent='bpftrace')}") as context:
        assert ALL not in context.names() and faults in context.names()
    agents.run("sample", "remove", "faults")
    assert not running(agents)
    wait_until(lambda: "agent-bpftrace" not in agents.children(), what="its end")
    for name in ("sched", "faults"):
        assert script(agents, "remove", name) == f"{name} is removed from {HOST}\n"
    assert "has no script 'sched'" in script(agents, "remove", "sched")


def test_unusable_scripts_and_metrics_are_refused(agents: Stack) -> None:
    for name, text, reason in (
        ("x", "tracepoint:sched:nope { @a = count(); }", "not found: sched:nope"),
        ("x", "BEGIN { @a = nsecs; }", "script x cannot be sampled: it fills no maps"),
        ("../x", TEXT, "'../x' cannot be the name of a script"),
        ("bpftrace", TEXT, "'bpftrace' cannot be the name of a script"),
    ):
        line = script(agents, "add", name, "--text", text)
        assert reason in line and line.endswith("[bad-script]"), line
    script(agents, "add", "sched", "--text", TEXT)
    assert "it gives " + ALL in refused(agents, f"{ALL}s")
    line = refused(agents, "bpftrace.scripts.none.data.a")
    assert "`supertwin agent script add none FILE`" in line
    assert not running(agents)
    script(agents, "remove", "sched")


def test_script_survives_a_new_check_of_agents(agents: Stack) -> None:
    script(agents, "add", "sched", "--text", TEXT)
    agents.run("agent", "check")
    words = ("agent", "describe", "bpftrace", "--format", "json")
    rows = json.loads(agents.run(*words).stdout)
    assert {row["metric"] for row in rows} == {"bpftrace.", ALL, BY}
    assert {row["script"] for row in rows} == {None, TEXT}
    script(agents, "remove", "sched")


def test_script_of_a_remote_host(near: Stack, there: Sshd) -> None:
    near.run("add", there.url(), "--host", "node9")
    at = ("--host", "node9")
    script(near, "add", "sched", "--text", TEXT, *at)
    script(near, "add", "bad", "--text", "tracepoint:sched:nope { @a = sum(1); }", *at)
    line = refused(near, "bpftrace.scripts.bad.data.a", *at)
    assert "bpftrace refuses script bad: " in line and "sched:nope" in line
    near.run("sample", "add", ALL, *at, "--plan", "sched", "--period", "1s")
    wait_until(lambda: values(near, ALL, "node9").get("", 0) > 100, what="switches")
    near.run("sample", "remove", "sched", *at)
    assert not running(near, *at)
