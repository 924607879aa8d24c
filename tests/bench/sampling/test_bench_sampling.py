"""The sampling benchmark: it ends what it starts, and counts correctly."""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from bench.sampling import thesis
from bench.sampling.busy import LOOPS
from bench.sampling.counting import OURS, PEERS, count, ticks
from bench.sampling.ground import HOST, period_of
from bench.sampling.idle import INSTANCES, NAME, idle_processes
from bench.sampling.limit import never_zero
from bench.sampling.stored import Asked, Kill, stored
from bench.sampling.throughput import METRICS, SETS
from core.linux.pmapi import Context
from tests.servers import ENDS_WITH_US, ROOT, Pmcd, VictoriaMetrics, wait_until

_HOLD = """
import pkgutil, sys, time
name, *counts = sys.argv[1:]
with pkgutil.resolve_name(name)(*map(int, counts)) as pids:
    print(*pids, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[VictoriaMetrics]:
    with VictoriaMetrics(tmp_path / "store") as server:
        yield server


def _runs(pid: int) -> bool:
    path = Path(f"/proc/{pid}/stat")
    return path.exists() and path.read_text().rpartition(")")[2].split()[0] != "Z"


def test_idle_processes_end_with_the_block() -> None:
    with idle_processes(3) as pids:
        assert all(map(_runs, pids))
    assert not any(map(_runs, pids))


@pytest.mark.parametrize(
    ("words", "count"),
    [
        (["bench.sampling.idle:idle_processes", "5"], 5),
        (["bench.sampling.busy:busy_loops"], LOOPS),
    ],
)
def test_processes_end_when_their_parent_is_killed(
    words: list[str], count: int
) -> None:
    command = [*ENDS_WITH_US, sys.executable, "-c", _HOLD, *words]
    starter = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert starter.stdout
    with starter.stdout as stream:
        pids = [int(pid) for pid in stream.readline().split()]
        assert len(pids) == count and all(map(_runs, pids))
        starter.send_signal(signal.SIGKILL)
        starter.wait()
    wait_until(lambda: not any(map(_runs, pids)), what="the end of the processes")


def test_points_are_counted_only_in_their_interval(store: VictoriaMetrics) -> None:
    now = time.time_ns() // 1_000_000 - 10_000
    ours = f'{{hostname="n1",instname="000042 {NAME}"}}'
    lines = [f"proc_psinfo_rss{ours} {ms % 3} {now + ms}" for ms in range(0, 90, 10)]
    lines += [f"proc_psinfo_utime{ours} 0 {now}"]
    lines += [f'proc_psinfo_rss{{instname="000043 sleep 1"}} 0 {now}']
    lines += [f"proc_psinfo_rss{ours} 3 {now + 30}"]  # the same point again
    _write(store, "/api/v1/import/prometheus", lines)
    found = count(store, OURS, now, now + 60, ["proc.psinfo.rss"])
    assert (found.inserted, found.above_zero) == (7, 6)
    assert found.zeros == 1  # that at `now`; the one at 30 ms was overwritten
    assert ticks(store, OURS, now + 10, now + 30) == [now + 10, now + 20]
    assert count(store, PEERS, now, now + 60).inserted == 0


def test_points_of_the_peer_are_counted_separately(store: VictoriaMetrics) -> None:
    now = time.time_ns() // 1_000_000 - 10_000
    fields = f"_000042_{NAME}=5,_000043_{NAME}=0,_000044_sleep_1=1"
    _write(store, "/write?db=peer", [f"proc_psinfo_rss {fields} {now}000000"])
    found = count(store, PEERS, now, now + 1, ["proc.psinfo.rss"])
    assert (found.inserted, found.above_zero, found.zeros) == (2, 2, 1)
    assert count(store, OURS, now, now + 1).inserted == 0


def test_soak_counts_points_and_impossible_values(store: VictoriaMetrics) -> None:
    now = (time.time_ns() // 60_000_000) * 60 - 60_000
    lines = [_point("proc_psinfo_rss", now + 60 * n) for n in range(10)]
    lines += lines[:3]  # sent twice, stored once
    lines += [_point("proc_psinfo_rss", now + 61)]  # between two ticks
    lines += [_point("proc_psinfo_other", now)]  # not requested
    _write(store, "/api/v1/import/prometheus", lines)
    kills = [Kill("PMCD", now + 70, now + 190), Kill("the store", now, now + 600)]
    asked = Asked(["proc.psinfo.rss"], 60, 1)
    found = stored(store, now, kills, asked)
    assert (found.points, found.series, found.twice) == (12, 2, 0)
    assert (found.first_ms, found.last_ms) == (now, now + 540)
    assert found.impossible == 2 + 2  # and two ticks while there was no PMCD


def test_soak_finds_missing_ticks_of_idle_processes(
    store: VictoriaMetrics,
) -> None:
    now = (time.time_ns() // 60_000_000) * 60 - 60_000
    absent, other, half = {4, 5, 8}, {0, 1, 3}, 7
    there = [n for n in range(10) if n not in absent]
    lines = [_point("proc_psinfo_rss", now + 60 * n) for n in there]
    lines += [_point("proc_psinfo_rss", now + 60 * n, 43) for n in there if n != half]
    lines += [_point("proc_psinfo_rss", now + 60 * n, 9, "cron") for n in other]
    _write(store, "/api/v1/import/prometheus", lines)
    found = stored(store, now, [], Asked(["proc.psinfo.rss"], 60, 2))
    assert (found.points, found.uneven) == (16, 1)
    # Twice the number of points of tick 3, and once that of tick 7.
    before = [(4, 3), (5, 3), (8, 1)]
    assert found.absent == [(now + 60 * n, points) for n, points in before]


def _point(name: str, ms: int, pid: int = 42, command: str = NAME) -> str:
    return f'{name}{{hostname="{HOST}",instname="{pid:06} {command}"}} 1 {ms}'


def test_chosen_metrics_are_above_zero_for_a_sleeping_process(tmp_path: Path) -> None:
    with Pmcd(tmp_path / "pmcd", sample=True) as pmcd, idle_processes(3) as pids:
        with Context(pmcd.address) as context:
            indom = context.describe(METRICS[0]).indom
            names = context.instances(indom)
        assert all(re.fullmatch(INSTANCES, names[pid]) for pid in pids)
        for files, metric in ((1, "proc.psinfo.start_time"), (3, "proc.io.rchar")):
            sound = never_zero(pmcd.address, SETS[files], pids)
            assert {"proc.psinfo.rss", metric} <= set(sound)
            assert "proc.psinfo.utime" not in sound


def test_periods_are_whole_milliseconds_and_never_slower() -> None:
    assert [period_of(hertz) for hertz in thesis.FREQUENCIES] == [
        *(500, 250, 125, 62, 31, 15)
    ]


@pytest.mark.parametrize("table", [thesis.TABLE_5_2, thesis.TABLE_5_3])
def test_figures_of_the_thesis_are_quoted_correctly(
    table: dict[tuple[int, int], thesis.Row],
) -> None:
    """Expected, inserted and loss must agree with each other."""
    assert sorted(table) == sorted(
        (hertz, number) for hertz in thesis.FREQUENCIES for number in thesis.METRICS
    )
    for row in table.values():
        assert 100 * (1 - row.inserted / row.expected) == pytest.approx(row.loss, abs=1)


def _write(store: VictoriaMetrics, path: str, lines: list[str]) -> None:
    body = "\n".join(lines)
    httpx.post(f"{store.url}{path}", content=body).raise_for_status()
