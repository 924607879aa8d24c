"""Observations started, followed and ended over HTTP, on a stack."""

import base64
import http.client
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.e2e.launched_runs import begun, followed, recorded
from tests.observed import operator, plans
from tests.servers import wait_until
from tests.stack import Stack

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def client(stack: Stack) -> Iterator[httpx.Client]:
    """Return an operator's client."""
    with operator(stack, "launcher") as client:
        yield client


def outcomes(client: httpx.Client, id_: str) -> list[str]:
    found = client.get(f"/observations/{id_}").json()
    return [run["outcome"] for run in found["runs"]]


def test_command_is_launched_and_followed(client: httpx.Client) -> None:
    script = "echo out; echo err >&2; sleep 0.2; exit 3"
    one = begun(client, "sh", "-c", script, tags=["far"], timeout=20)
    received = followed(client, one["id"])
    kinds = [event["event"] for event in received]
    assert (kinds[0], kinds[-1]) == ("started", "closed")
    printed = {
        event["stream"]: base64.b64decode(event["data"])
        for event in received
        if event["event"] == "output"
    }
    assert printed == {"stdout": b"out\n", "stderr": b"err\n"}
    (run,) = received[-1]["runs"]
    assert (run["outcome"], run["left"]) == ("failed", [])
    assert run["seconds"] >= 0.2
    assert recorded(client, run["node"]) == "failed"


def test_reconnecting_client_gets_the_remaining_events(client: httpx.Client) -> None:
    one = begun(client, "echo", "hello")
    received = followed(client, one["id"])
    assert followed(client, one["id"], after=len(received) - 2) == received[-2:]


def test_running_command_is_cancelled(client: httpx.Client) -> None:
    one = begun(client, "sleep", "60")
    wait_until(lambda: client.get(f"/observations/{one['id']}").json()["events"])
    shown = client.get("/observations/running").json()
    assert one["id"] in {each["id"] for each in shown if each["state"] == "running"}
    assert client.delete(f"/observations/{one['id']}").status_code == 202
    received = followed(client, one["id"])
    assert received[-1]["runs"][0]["outcome"] == "cancelled"
    assert recorded(client, received[-1]["runs"][0]["node"]) == "cancelled"


def test_cpu_belongs_to_one_observation_at_a_time(
    client: httpx.Client, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    script = f"until [ -e {go} ]; do sleep 0.1; done"
    first = begun(client, "sh", "-c", script, cpus="0")
    refused = client.post("/observations", json={"argv": ["true"], "cpus": "0-1"})
    assert refused.status_code == 409
    assert f"observation {first['id']} has CPU 0" in refused.json()["detail"]
    second = begun(client, "true", cpus="1")
    with ThreadPoolExecutor(1) as pool:
        queueing = pool.submit(begun, client, "true", cpus="0", wait=True)
        time.sleep(1)
        assert not queueing.done()
        go.touch()
        queued = queueing.result()
    path = f"/observations/{first['id']}"
    wait_until(lambda: client.get(path).json()["state"] == "over", what="its end")
    for one in (first, second, queued):
        assert followed(client, one["id"])[-1]["runs"][0]["outcome"] == "completed"


@pytest.mark.serial
def test_cpus_are_released_when_a_waiting_client_disconnects(
    stack: Stack, client: httpx.Client
) -> None:
    run_request = {"argv": ["true"], "cpus": "0", "wait": True, "attended": True}
    run_request |= {"metrics": ["kernel.percpu.cpu.user"]}
    body, headers = json.dumps(run_request), dict(client.headers)

    def held(but: str) -> set[str]:
        """Return the runs other than ``but`` that hold resources."""
        return {one.stem for one in (stack.home / "observing").iterdir()} - {but}

    def until_given_back() -> float:
        """Return how long the resources of a disconnected client are held, in s."""
        first = begun(client, "sleep", "1", cpus="0")["id"]
        wait_until(lambda: not held(first), what="what ran before is recorded")
        waits = http.client.HTTPConnection(client.base_url.host, client.base_url.port)
        waits.request("POST", "/observations", body, headers)
        # The run has its CPUs now, and is not ready yet.
        wait_until(lambda: held(first))
        waits.close()
        return wait_until(lambda: not held(first), what="all is given back")

    # Far less than the 15 s of a silent client. A busy machine may need another try.
    assert any(until_given_back() < 10 for _ in range(3))
    assert plans(stack) == {"monitor"}
    shown = client.get("/observations/running").json()
    assert [one for one in shown if one["state"] != "over"] == []
    assert followed(client, begun(client, "true", cpus="0")["id"])


def test_repetitions_run_one_after_the_other(client: httpx.Client) -> None:
    one = begun(client, "true", repeat=3)
    received = followed(client, one["id"])
    assert [run["outcome"] for run in received[-1]["runs"]] == ["completed"] * 3
    nodes = {run["node"] for run in received[-1]["runs"]}
    assert len(nodes) == 3
    assert {recorded(client, node) for node in nodes} == {"completed"}


def test_missing_command_is_reported(client: httpx.Client) -> None:
    one = begun(client, "/no/such/command")
    closed = followed(client, one["id"])[-1]
    assert closed["runs"] == []
    assert closed["errorCode"] == "launch-failed"
