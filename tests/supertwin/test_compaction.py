"""Fuseki's files are compacted automatically."""

import asyncio
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import httpx
import pytest

from core.settings.settings import Settings
from core.stores.endpoint import Endpoint
from core.stores.errors import EndpointUnreachableError, IncompleteAnswerError
from supertwin.stack.compaction import bytes_on_disk, compact, drop_old, keep_small
from supertwin.stack.tdb2 import check_dataset
from tests.command_line import run
from tests.supertwin.conftest import Servers, running_servers

COUNT = "SELECT (COUNT(*) AS ?n) { GRAPH <urn:big> { ?s ?p ?o } }"


def replace_often(twin: str) -> None:
    """Write and drop the same graph, which leaves unused space in the files."""
    triples = " . ".join(f"<urn:s{i}> <urn:p> {i}" for i in range(4000))
    for _ in range(4):
        text = "DROP SILENT GRAPH <urn:big> ; "
        text += f"INSERT DATA {{ GRAPH <urn:big> {{ {triples} }} }}"
        answer = httpx.post(f"{twin}/update", data={"update": text}, timeout=120)
        assert answer.status_code < 300


def count(twin: str) -> str:
    answer = httpx.post(f"{twin}/sparql", data={"query": COUNT}, timeout=120)
    return str(answer.json()["results"]["bindings"][0]["n"]["value"])


def settings_of(servers: Servers) -> Settings:
    port = int(servers.env["SUPERTWIN_FUSEKI_PORT"])
    return Settings(home=servers.home, fuseki_port=port)


def test_grown_dataset_is_compacted(servers: Servers) -> None:
    twin = f"{servers.fuseki}/twin"
    replace_often(twin)
    folder = servers.home / "fuseki" / "twin"
    before = bytes_on_disk(folder)
    settings = settings_of(servers).with_changes(compact_every=0.1)

    async def for_a_while() -> None:
        task = asyncio.create_task(keep_small(settings, floor=before // 3))
        async with asyncio.timeout(60):
            # The old generation is removed file by file; part of it may remain when the
            # total falls below its old value.
            while (
                len(list(folder.glob("Data-*"))) > 1 or bytes_on_disk(folder) >= before
            ):
                await asyncio.sleep(0.1)
        task.cancel()

    asyncio.run(for_a_while())
    assert count(twin) == "4000"
    check_dataset(folder)


@contextmanager
def readers(twin: str, number: int = 3) -> Iterator[None]:
    """Run clients that read all the time; fail on a wrong answer."""
    stop = Event()

    def read() -> None:
        while not stop.is_set():
            try:
                answer = endpoint.select(COUNT).values()
            except (
                EndpointUnreachableError,
                IncompleteAnswerError,
            ):  # Fuseki restarts
                time.sleep(0.1)
            else:
                assert answer == [[4000]]

    with Endpoint(twin) as endpoint, ThreadPoolExecutor(number) as pool:
        reading = [pool.submit(read) for _ in range(number)]
        try:
            yield
        finally:
            stop.set()
        for one in reading:
            one.result()


def test_readers_do_not_block_compaction(servers: Servers) -> None:
    """Jena's issue 3488: such a compaction never ended, nor did later ones."""
    twin, folder = f"{servers.fuseki}/twin", servers.home / "fuseki" / "twin"
    replace_often(twin)
    before = bytes_on_disk(folder)
    with readers(twin):
        asyncio.run(compact(settings_of(servers), "twin", 0.5))
        assert len(list(folder.glob("Data-*"))) == 1
        replace_often(twin)
    assert bytes_on_disk(folder) <= before
    assert count(twin) == "4000"


def test_refusal_of_fuseki_is_an_error(servers: Servers) -> None:
    with pytest.raises(ValueError, match="400"):
        asyncio.run(compact(settings_of(servers), "none"))


def test_empty_folder_has_size_zero(tmp_path: Path) -> None:
    assert bytes_on_disk(tmp_path) == 0


@pytest.mark.parametrize(
    ("setting", "line"),
    [
        ("FUSEKI_PASSWORD=wrong", "refuses the account (401); fix SUPERTWIN_FUSEKI_"),
        ("FUSEKI_URL=http://127.0.0.1:1", "compact it on its own machine"),
    ],
)
def test_external_fuseki_cannot_be_compacted(
    servers: Servers, setting: str, line: str
) -> None:
    """This command is for the local Fuseki only."""
    name, _, value = setting.partition("=")
    done = run({**servers.env, f"SUPERTWIN_{name}": value}, "compact")
    assert done.returncode != 0
    assert len(done.stderr.splitlines()) == 1
    assert line in done.stderr


def test_only_the_newest_generation_is_kept(tmp_path: Path) -> None:
    names = ("Data-0001", "Data-0009", "Data-0010", "Data-0011-tmp", "Data-x", "other")
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "GSPO.dat").write_text("")
    drop_old(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {*names[2:]}
    drop_old(tmp_path / "none")


def test_remains_of_a_compaction_are_removed_at_the_next_start(tmp_path: Path) -> None:
    """As after a compaction that never ended: the old generation still exists."""
    with running_servers(tmp_path) as servers:
        replace_often(f"{servers.fuseki}/twin")
        asyncio.run(compact(settings_of(servers), "twin"))
        (newest,) = (tmp_path / "fuseki" / "twin").glob("Data-*")
    old = newest.with_name("Data-0001")
    assert old != newest
    shutil.copytree(newest, old)
    with running_servers(tmp_path) as servers:
        assert count(f"{servers.fuseki}/twin") == "4000"
        assert not old.exists()
