"""Fuseki's files shrink by themselves."""

import asyncio
from pathlib import Path

import httpx
import pytest

from supertwin.compaction import bytes_on_disk, compact, keep_small
from supertwin.settings import Settings
from tests.supertwin.conftest import Servers


def replace_often(twin: str) -> None:
    """Write and drop the same graph, which leaves its room behind."""
    triples = " . ".join(f"<urn:s{i}> <urn:p> {i}" for i in range(4000))
    for _ in range(4):
        text = "DROP SILENT GRAPH <urn:big> ; "
        text += f"INSERT DATA {{ GRAPH <urn:big> {{ {triples} }} }}"
        answer = httpx.post(f"{twin}/update", data={"update": text}, timeout=60)
        assert answer.status_code < 300


def count(twin: str) -> str:
    query = "SELECT (COUNT(*) AS ?n) { GRAPH <urn:big> { ?s ?p ?o } }"
    answer = httpx.post(f"{twin}/sparql", data={"query": query}, timeout=60)
    return str(answer.json()["results"]["bindings"][0]["n"]["value"])


def test_a_dataset_that_grew_is_compacted(servers: Servers) -> None:
    twin = f"{servers.url('FUSEKI')}/twin"
    replace_often(twin)
    folder = servers.home / "fuseki" / "twin"
    before = bytes_on_disk(folder)
    settings = Settings(
        home=servers.home, fuseki_port=int(servers.env["SUPERTWIN_FUSEKI_PORT"])
    )

    async def for_a_while() -> None:
        task = asyncio.create_task(keep_small(settings, every=0.1, floor=before // 3))
        async with asyncio.timeout(60):
            while bytes_on_disk(folder) >= before:
                await asyncio.sleep(0.1)
        task.cancel()

    asyncio.run(for_a_while())
    assert count(twin) == "4000"


def test_what_fuseki_refuses_is_an_error(servers: Servers) -> None:
    port = int(servers.env["SUPERTWIN_FUSEKI_PORT"])
    with pytest.raises(ValueError, match="400"):
        asyncio.run(compact(port, "none"))


def test_an_empty_folder_takes_nothing(tmp_path: Path) -> None:
    assert bytes_on_disk(tmp_path) == 0
