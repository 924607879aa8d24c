"""Reading exporters that hang, answer slowly, send a gigabyte, or end early."""

import json
import os
import resource
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sampling.agents.exporter_fetch import (
    MOST_BYTES,
    STATUS,
    Exporter,
    FetchError,
    Reader,
    Reports,
    fetch,
)
from tests.disk import fill, small_disk
from tests.ports import free_ports
from tests.sampling.agents.exporter_server import TEXT, exporter
from tests.servers import until_killed, wait_until


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with exporter() as url:
        yield url


def failure(url: str, seconds: float = 1.0) -> tuple[str, str]:
    with pytest.raises(FetchError) as caught:
        fetch(url, seconds)
    assert str(caught.value).isprintable()
    return caught.value.kind, str(caught.value)


def test_good_text_is_returned(url: str) -> None:
    assert fetch(f"{url}/good") == TEXT


@pytest.mark.parametrize("page", ["hang", "drip"])
def test_slow_exporter_is_given_up(url: str, page: str) -> None:
    started = time.monotonic()
    assert failure(f"{url}/{page}") == ("hangs", "no answer within 1 s")
    assert time.monotonic() - started < 10


def test_gigabyte_is_not_read(url: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    kind, text = failure(f"{url}/huge", 10.0)
    assert (kind, text) == ("too long", f"its answer is longer than {MOST_BYTES} bytes")
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown * 1024 < 20 * MOST_BYTES


def test_other_failures_are_named(url: str) -> None:
    assert failure(f"{url}/short")[0] == "unreachable"
    # A redirect could lead to any host.
    assert failure(f"{url}/moved") == ("status", "it answered with status 302")
    encoded = ("encoded", "its answer is encoded (gzip)")
    assert failure(f"{url}/encoded") == encoded
    # What it sent goes to a terminal.
    assert failure(f"{url}/raw") == ("unreachable", "[31mno HTTP")
    (port,) = free_ports(1)
    kind, text = failure(f"http://127.0.0.1:{port}/")
    assert kind == "unreachable" and "Connection refused" in text


def test_values_that_cannot_be_written_are_not_kept(url: str, tmp_path: Path) -> None:
    """Otherwise the agent would give the last values at each tick."""
    reader = Reader(tmp_path, Exporter("x", 1000, f"{url}/good"), Reports(tmp_path))
    values = tmp_path / "x.prom"
    reader._read(2.0)
    assert "heat" in values.read_text()
    (tmp_path / "x.prom.part").mkdir()
    reader._read(2.0)
    assert not values.exists()
    state = json.loads((tmp_path / STATUS).read_text())["x"]
    assert state["result"] == "not written" and "x.prom.part" in state["reason"]


@contextmanager
def reading(folder: Path, url: str) -> Iterator[int]:
    """Read an exporter for a program in place of PCP's agent; yields our child."""
    (folder / "exporters.conf").write_text(f"room 100 {url}/good\n")
    module = [sys.executable, "-m", "sampling.agents.exporter_fetch"]
    with until_killed([*module, str(folder), "--", "/bin/sleep", "600"]) as process:
        wait_until((folder / "room.prom").exists)
        yield process.pid


def child(pid: int) -> int:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(found[0]) if found else 0


def test_reading_continues_after_a_full_disk(url: str, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 64) as folder, reading(folder, url):
        _fill_and_free(folder)


def test_reader_that_is_killed_is_started_again(url: str, tmp_path: Path) -> None:
    with reading(tmp_path, url) as agent:
        first = child(child(agent))
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: child(child(agent)) not in (0, first))
        (tmp_path / "room.prom").unlink(missing_ok=True)
        wait_until((tmp_path / "room.prom").exists)


def test_no_old_values_stay_without_a_reader(url: str, tmp_path: Path) -> None:
    with reading(tmp_path, url) as agent:
        reader = child(child(agent))
        os.kill(child(agent), signal.SIGKILL)
        wait_until(lambda: not Path(f"/proc/{reader}").exists())
        assert not list(tmp_path.glob("*.prom"))
    with reading(tmp_path, url) as agent:
        reader = child(child(agent))
        os.kill(agent, signal.SIGKILL)
        wait_until(lambda: not Path(f"/proc/{reader}").exists())
        wait_until(lambda: not list(tmp_path.glob("*.prom")))


def _fill_and_free(folder: Path) -> None:
    values, reads = folder / "room.prom", folder / "scrapes.prom"
    wait_until(lambda: values.exists() and reads.exists())
    filler = fill(folder)
    wait_until(lambda: not values.exists() or "not written" in reads.read_text())
    filler.unlink()
    wait_until(lambda: "result=not written" in reads.read_text())
    wait_until(values.exists)
    assert not list(folder.glob("*.part*"))


def test_ended_reader_leaves_the_values_of_its_successor(
    url: str, tmp_path: Path
) -> None:
    """The URL of an exporter is changed while a read hangs."""
    reports = Reports(tmp_path)
    old = Reader(tmp_path, Exporter("x", 1000, f"{url}/hang"), reports)
    new = Reader(tmp_path, Exporter("x", 1000, f"{url}/good"), reports)
    old.start()
    old.end()
    new._read(2.0)
    old.join()
    assert "heat" in (tmp_path / "x.prom").read_text()
    assert json.loads((tmp_path / STATUS).read_text())["x"]["result"] == "ok"
    new.end()
    assert not (tmp_path / "x.prom").exists()
