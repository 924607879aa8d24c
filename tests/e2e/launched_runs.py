"""Helpers that launch commands over HTTP and follow them to their end."""

import json
from typing import Any

import httpx

from tests.servers import wait_until


def begun(client: httpx.Client, *argv: str, **more: Any) -> dict[str, Any]:
    answer = client.post("/observations", json={"argv": argv, **more})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    assert answer.headers["Location"] == f"/observations/{found['id']}"
    return found


def followed(client: httpx.Client, id_: str, after: int = 0) -> list[dict[str, Any]]:
    """Return the events of a run from number ``after`` to its end."""
    path = f"/observations/{id_}/events?after={after}"
    with client.stream("GET", path) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = [line for line in answer.iter_lines() if line.startswith("data:")]
    return [json.loads(line[5:]) for line in lines]


def recorded(client: httpx.Client, node: str) -> str:
    """Wait for the outcome of a run in the graph and return it."""
    query = f"SELECT ?o {{ <{node}> <https://w3id.org/supertwin/ns#outcome> ?o }}"
    found: list[str] = []

    def asked() -> bool:
        answer = client.post(
            "/sparql",
            data={"query": query},
            headers={"Accept": "application/sparql-results+json"},
        )
        rows = answer.raise_for_status().json()["results"]["bindings"]
        found[:] = [row["o"]["value"] for row in rows]
        return bool(found)

    wait_until(asked)
    return found[0]
