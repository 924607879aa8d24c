"""The API is killed, or the host becomes unreachable, during a run."""

import base64
import json
import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.launched_runs import followed
from tests.observed import (
    kill_api,
    missing_points,
    now_ms,
    observing,
    operator,
    outcome,
    plans,
    runs,
    samples,
    statistics,
    wait_for_line,
)
from tests.servers import wait_until
from tests.sshd import Sshd
from tests.stack import Stack

pytestmark = pytest.mark.e2e

_EVERY_MS = 100
_EVERY = ("--every", f"{_EVERY_MS}ms")
_METRIC, _SERIES = "kernel.all.pswitch", "kernel_all_pswitch"


@pytest.fixture(scope="module")
def client(stack: Stack) -> Iterator[httpx.Client]:
    """Return an operator's client."""
    with operator(stack, "survivor") as client:
        yield client


def begun(client: httpx.Client, *argv: str, **more: Any) -> dict[str, Any]:
    answer = client.post("/observations", json={"argv": argv, "wait": True, **more})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.serial
def test_attended_run_continues_with_the_next_api(
    stack: Stack, client: httpx.Client, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    script = f"echo ready; until [ -e {go} ]; do sleep 0.1; done"
    words = ("--cpus", "0", "--metrics", _METRIC, *_EVERY, "--repeat", "2", "--")
    with observing(stack, *words, "sh", "-c", script) as process:
        wait_for_line(process, "ready")
        began = now_ms()
        wait_until(lambda: samples(stack, _SERIES, began), what="its first sample")
        missing = missing_points(stack)
        kill_api(stack)
        refused = client.post("/observations", json={"argv": ["true"], "cpus": "0"})
        assert refused.status_code == 409, refused.text
        assert "has CPU 0" in refused.json()["detail"]
        back = now_ms()
        wait_until(lambda: samples(stack, _SERIES, back), what="a sample after that")
        seen, ended = samples(stack, _SERIES, began), now_ms()
        go.touch()
        _, error = process.communicate(timeout=120)
    assert process.returncode == 0, error
    assert [how for how, _ in runs(error)] == ["completed", "completed"]
    (_, first), (_, second) = runs(error)
    assert outcome(stack, second) == outcome(stack, first) == "completed"
    (figures,) = statistics(stack, first)
    # The API that read the first counter values was killed.
    assert float(figures["covered"]) >= (ended - began) / 1000
    assert float(figures["total"]) > 0
    assert figures["samples"] >= len(seen)
    # Without an API no tick is lost, except those that the bridge counts as missing.
    lost = {*range(min(seen), max(seen), _EVERY_MS)} - {*seen}
    wait_until(lambda: missing_points(stack) - missing >= len(lost), what=f"{lost}")
    wait_until(lambda: plans(stack) == {"monitor"}, what="its plan is gone")
    begun(client, "true", cpus="0")


def test_launched_run_continues_with_the_next_api(
    stack: Stack, client: httpx.Client, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    script = f"echo ready; until [ -e {go} ]; do sleep 0.1; done; echo done"
    sampled = {"metrics": [_METRIC], "every": "100ms"}
    one = begun(client, "sh", "-c", script, cpus="0", repeat=2, **sampled)
    other = begun(client, "sleep", "987", cpus="1")
    wait_until(lambda: client.get(f"/observations/{one['id']}").json()["events"] > 1)
    began = now_ms()
    kill_api(stack)
    refused = client.post("/observations", json={"argv": ["true"], "cpus": "0"})
    assert refused.status_code == 409, refused.text
    assert client.delete(f"/observations/{other['id']}").status_code == 202
    assert followed(client, other["id"])[-1]["runs"][0]["outcome"] == "cancelled"
    ended = now_ms()
    go.touch()
    received = followed(client, one["id"])
    printed = [
        (event["run"][-1], base64.b64decode(event["data"]))
        for event in received
        if event["event"] == "output"
    ]
    assert b"".join(text for run, text in printed if run == "1") == b"ready\ndone\n"
    assert b"".join(text for run, text in printed if run == "2") == b"ready\ndone\n"
    first, second = (run["node"] for run in received[-1]["runs"])
    assert outcome(stack, second) == outcome(stack, first) == "completed"
    (figures,) = statistics(stack, first)
    assert float(figures["covered"]) >= (ended - began) / 1000
    wait_until(lambda: plans(stack) == {"monitor"}, what="its plan is gone")
    kept = stack.home / "observations" / f"{one['id']}-1"
    assert not (kept / "reported.jsonl").exists()
    begun(client, "true", cpus="0")


def test_resumed_runs_that_share_cpus_report_it_and_keep_them(
    stack: Stack, client: httpx.Client
) -> None:
    ids = sorted(begun(client, "sleep", "987", cpus=cpu)["id"] for cpu in "01")
    for id_ in ids:
        wait_until(lambda one=id_: client.get(f"/observations/{one}").json()["events"])
    for kept in (stack.home / "observing").glob("*.json"):
        kept.write_text(kept.read_text().replace('"cpus": [1]', '"cpus": [0]'))
    kill_api(stack)
    for id_, other in (ids, ids[::-1]):
        state = client.get(f"/observations/{id_}").json()
        assert state["errorCode"] == "cpus-shared" and other in state["problem"]
        refused = client.post("/observations", json={"argv": ["true"], "cpus": "0"})
        assert refused.status_code == 409, refused.text
        assert client.delete(f"/observations/{id_}").status_code == 202
        closed = followed(client, id_)[-1]
        assert closed["runs"][0]["outcome"] == "cancelled"
        assert closed["problem"] == state["problem"]
    begun(client, "true", cpus="0")


def test_stopping_the_api_ends_launched_runs(
    stack: Stack, client: httpx.Client
) -> None:
    one = begun(client, "sleep", "987", cpus="0")
    events = stack.home / "observations" / one["id"] / "events.jsonl"
    wait_until(lambda: events.exists() and events.read_text())
    pid = json.loads(events.read_text().splitlines()[0])["pid"]
    kill_api(stack, signal.SIGTERM)
    node = f"{stack.base}/observation/{one['id']}"
    assert outcome(stack, node) == "broke off"
    record = stack.get(f"/observation/{one['id']}", "application/ld+json").text
    assert re.search(r'"(st:)?errorCode":\s*"run-interrupted"', record)
    wait_until(lambda: not Path(f"/proc/{pid}").exists(), what="its command is gone")
    begun(client, "true", cpus="0")


def test_repeated_events_count_once(client: httpx.Client) -> None:
    one = begun(client, "true", attended=True)
    now, path = time.time_ns(), f"/observations/{one['id']}/events"
    started = {"event": "started", "start_ns": now, "exec_ns": now, "pid": 1}
    first = json.dumps({**started, "start_ticks": 1, "boot": "b"})
    alive = json.dumps({"event": "alive", "ns": now + 1})
    for body, message in ((first, 0), (first, 0), (f"{first}\n{alive}", 0), (alive, 1)):
        answer = client.post(f"{path}?first={message}", content=body)
        assert answer.status_code == 200, answer.text
    assert answer.json()["events"] == 2
    refused = json.dumps({"event": "refused", "reason": "enough"})
    answer = client.post(f"{path}?first=2", content=refused)
    assert (answer.json()["state"], answer.json()["program"]) == ("over", None)


def test_followers_see_the_last_heartbeat_and_all_are_counted(
    client: httpx.Client,
) -> None:
    one = begun(client, "true", attended=True)
    now, path = time.time_ns(), f"/observations/{one['id']}/events"
    started = {"event": "started", "start_ns": now, "exec_ns": now, "pid": 1}
    beats = [{"event": "alive", "ns": now + at, "pids": [1, 2]} for at in range(9)]
    refused = {"event": "refused", "reason": "enough"}
    reported = [{**started, "start_ticks": 1, "boot": "b"}, *beats, refused]
    for first, event in enumerate(reported):
        content = json.dumps(event)
        answer = client.post(f"{path}?first={first}", content=content)
        assert answer.json()["events"] == first + 1
    for last, numbers in ("0", [1, 10, 11, 12]), ("5", [10, 11, 12]), ("10", [11, 12]):
        found = client.get(path, headers={"Last-Event-ID": last}).text.splitlines()
        assert [int(line[4:]) for line in found if line.startswith("id:")] == numbers
    assert f"{now + 8}" in client.get(path).text


@pytest.mark.skipif(os.geteuid() != 0, reason="an sshd of its own needs root")
def test_silent_runs_are_recorded_as_interrupted(
    near: Stack, there: Sshd, client: httpx.Client
) -> None:
    """The API is killed, the attending client falls silent, or the network is down."""
    near.run("add", there.url(), "--host", "node9")
    one = begun(client, "sleep", "987", host="node9")
    wait_until(lambda: client.get(f"/observations/{one['id']}").json()["events"])
    kill_api(near)
    assert outcome(near, f"{near.base}/observation/{one['id']}") == "broke off"
    attended = begun(client, "true", attended=True, metrics=[_METRIC])
    assert attended["program"].startswith("from __future__")
    now = time.time_ns()
    started = {"event": "started", "start_ns": now, "exec_ns": now, "pid": 1}
    started |= {"start_ticks": 1, "boot": "b"}
    path = f"/observations/{attended['id']}/events"
    found = client.post(path, content=json.dumps(started))
    assert found.json()["cancel"] is False
    far = begun(client, "sleep", "987", host="node9", metrics=[_METRIC])
    wait_until(lambda: client.get(f"/observations/{far['id']}").json()["events"] > 1)
    there.set_network("down")
    try:
        for one in (attended, far):
            iri = f"{near.base}/observation/{one['id']}"
            assert outcome(near, iri) == "broke off"
        wait_until(lambda: plans(near) == {"monitor"}, what="its plan is gone")
    finally:
        there.set_network("up")
