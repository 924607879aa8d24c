"""Threads from the kernel: values of /proc, selection by plans, and limits."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from core.settings.tools import PROCESS_READER
from sampler_bridge.sources.processes.program import THREADS, ProcessProgram
from sampler_bridge.sources.processes.source import ProcessSource
from sampler_bridge.sources.processes.threads import NoThreads, ThreadSource
from sampling.account.reasons import GapReason
from sampling.sources.thread_metrics import PREFIX, THREAD_METRICS, thread_count
from tests.sampler_bridge.servers import BridgeProcess
from tests.sampler_bridge.test_bridge import assert_all_stored
from tests.sampler_bridge.test_processes import without_rights
from tests.sampler_bridge.test_processes_equal import values
from tests.servers import Pmcd, VictoriaMetrics, until_killed, wait_until

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root reads the kernel by BPF"
)

NewBridge = Callable[..., BridgeProcess]
NAMES = tuple(one.name for one in THREAD_METRICS)
# One thread computes, one writes, one waits; another starts and ends all the time.
LOAD = """
import mmap, os, sys, threading, time
def compute():
    while True: sum(range(10_000)); os.times()
def write():
    with open(sys.argv[1], "wb", buffering=0) as file:
        while True: file.write(bytes(20_000)); file.seek(0); time.sleep(0.001)
def fault():
    while True:
        with mmap.mmap(-1, 1_000_000) as memory: memory.write(bytes(1_000_000))
        time.sleep(0.001)
for target in (compute, write, fault, lambda: time.sleep(1000)):
    threading.Thread(target=target, daemon=True).start()
while True:
    one = threading.Thread(target=sum, args=(range(9_000),)); one.start(); one.join()
    time.sleep(0.01)
"""
# The field of /proc/PID/task/TID/stat after the name; times are in ticks of 10 ms.
STAT = {
    **{"minflt": 7, "maj_flt": 9, "utime": 11, "stime": 12, "nice": 16},
    **{"start_time": 19, "processor": 36, "rt_priority": 37, "policy": 38},
}
TICKS = ("utime", "stime", "start_time")
IO = ("rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes")
SCHEDSTAT = ("cpu_time", "run_delay", "pcount")
SPLIT = ("utime", "stime")
EXACT = ("start_time", "nice", "rt_priority", "policy")
ROUNDS = 20


@pytest.fixture
def threads() -> Iterator[ThreadSource]:
    source = ThreadSource(PROCESS_READER)
    source.connect()
    source.select(NAMES)
    yield source
    source.close()


@contextmanager
def loaded(path: Path) -> Iterator[int]:
    """A process with threads that do different things."""
    with until_killed([sys.executable, "-c", LOAD, str(path)]) as process:
        wait_until(lambda: len(tasks(process.pid)) >= 5)
        yield process.pid


def tasks(pid: int) -> list[int]:
    return [int(one.name) for one in Path(f"/proc/{pid}/task").iterdir()]


def proc_values(pid: int, tid: int) -> dict[str, int]:
    """What /proc shows of a thread, under the names of the metrics."""
    folder = Path(f"/proc/{pid}/task/{tid}")
    words = (folder / "stat").read_text().rpartition(") ")[2].split()
    found = {name: int(words[at]) for name, at in STAT.items()}
    found |= {name: found[name] * 10 for name in TICKS}
    times = (folder / "schedstat").read_text().split()
    found |= dict(zip(SCHEDSTAT, map(int, times), strict=True))
    lines = dict(
        line.split(":") for line in (folder / "status").read_text().splitlines()
    )
    found["vctxsw"] = int(lines["voluntary_ctxt_switches"])
    found["nvctxsw"] = int(lines["nonvoluntary_ctxt_switches"])
    written = [line.split(": ") for line in (folder / "io").read_text().splitlines()]
    return found | {name: int(value) for name, value in written}


def by_thread(source: ProcessSource, pid: int) -> dict[int, dict[str, Any]]:
    """The values of each thread of a process, by metric without the prefix."""
    found: dict[int, dict[str, Any]] = {}
    for series, value in values(source.fetch()).items():
        process, _, tid = (series.instance or "").rpartition(":tid=")
        if process.startswith(f"{pid:06d} "):
            name = series.metric.removeprefix(PREFIX)
            found.setdefault(int(tid), {})[name] = series.text or value
    return found


def test_values_lie_between_those_of_proc_before_and_after(
    threads: ThreadSource, tmp_path: Path
) -> None:
    with loaded(tmp_path / "x") as pid:
        lasting = sorted(tasks(pid))[:5]
        start = by_thread(threads, pid)
        for _ in range(ROUNDS):
            before = {tid: proc_values(pid, tid) for tid in lasting}
            ours = by_thread(threads, pid)
            after = {tid: proc_values(pid, tid) for tid in lasting}
            for tid in lasting:
                assert {PREFIX + name for name in ours[tid]} == {*NAMES}
                check(before[tid], ours[tid], after[tid])

        def all_used() -> bool:
            now = by_thread(threads, pid)
            return all(
                any(now[tid][name] > start[tid][name] for tid in lasting)
                for name in ("cpu_time", "minflt", "vctxsw", "wchar", "syscw")
            )

        # Otherwise equal values would say little.
        wait_until(all_used)


def check(before: dict[str, int], ours: dict[str, Any], after: dict[str, int]) -> None:
    for name, value in ours.items():
        if name == "state":
            assert value in "RSD"
            continue
        first, last = before[name], after[name]
        if name in EXACT:
            assert first == value == last, name
        elif name == "processor":
            assert value == first or first != last or value < (os.cpu_count() or 1)
        elif name in SPLIT:
            assert first <= value <= last + 20, name
        else:
            assert first <= value <= last, name
    sums = [sum(one[name] for name in SPLIT) for one in (before, ours, after)]
    assert sums[0] - 10 <= sums[1] <= sums[2] + 10


def test_waiting_thread_ran_last_where_proc_says(threads: ThreadSource) -> None:
    with until_killed(["sleep", "1000"]) as process:
        comm = Path(f"/proc/{process.pid}/comm")
        wait_until(lambda: comm.read_text("utf-8") == "sleep\n")
        time.sleep(0.1)
        expected = proc_values(process.pid, process.pid)["processor"]
        assert by_thread(threads, process.pid)[process.pid]["processor"] == expected


def states(pid: int) -> dict[int, str]:
    """The states of a process's threads in /proc."""
    found = {}
    for tid in tasks(pid):
        text = Path(f"/proc/{pid}/task/{tid}/stat").read_text()
        found[tid] = text.rpartition(") ")[2][0]
    return found


def test_states_are_those_of_proc(threads: ThreadSource, tmp_path: Path) -> None:
    """Of a process that is stopped, one that has ended, and idle threads."""

    def ours(pid: int) -> dict[int, str]:
        return {tid: of["state"] for tid, of in by_thread(threads, pid).items()}

    with loaded(tmp_path / "x") as pid:
        os.kill(pid, signal.SIGSTOP)
        wait_until(lambda: {*states(pid).values()} == {"T"})
        assert ours(pid) == states(pid)
    with until_killed(["true"]) as process:
        wait_until(lambda: {*states(process.pid).values()} == {"Z"})
        assert ours(process.pid) == {process.pid: "Z"}
    with until_killed(["sleep", "1000"]) as process:
        wait_until(lambda: {*states(process.pid).values()} == {"S"})
        assert ours(process.pid) == {process.pid: "S"}
    idle = [
        int(one.parent.name)
        for one in Path("/proc").glob("[0-9]*/comm")
        if one.read_text().startswith("kworker/")
    ]
    assert idle
    assert "I" in {state for pid in idle for state in ours(pid).values()}


def all_tasks() -> set[int]:
    """The threads of all processes but the first, which some machines hide."""
    found: set[int] = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            found.update(tasks(int(folder.name)) if folder.name != "1" else ())
    return found


def test_every_thread_of_the_machine_is_read(threads: ThreadSource) -> None:
    def agrees() -> bool:
        before = all_tasks()
        names = {one.instance or "" for one in values(threads.fetch())}
        found = {int(name.rpartition(":tid=")[2]) for name in names}
        lasting = before & all_tasks()
        return len(lasting) > 10 and lasting <= found

    wait_until(agrees)
    assert thread_count() > 10


def test_kernel_reads_the_processes_of_a_plan_alone(
    threads: ThreadSource, kernel: ProcessSource, tmp_path: Path
) -> None:
    kernel.select(["proc.psinfo.pid"])
    with loaded(tmp_path / "x") as pid:
        kernel.narrow([f"{pid:06d} python", f"{os.getpid():06d} other", "none"])
        assert sorted(values(kernel.fetch()).values()) == sorted([pid, os.getpid()])
        threads.narrow([f"{pid:06d} python:tid={pid}"])
        of_one = {one.instance for one in values(threads.fetch())}
        assert {(name or "")[:7] for name in of_one} == {f"{pid:06d} "}
        assert len(of_one) >= 5
    wait_until(lambda: not Path(f"/proc/{pid}").exists())
    assert threads.fetch().points == 0
    threads.narrow(None)
    kernel.narrow(None)
    assert threads.fetch().points > len(NAMES)
    assert kernel.fetch().points > 2


def test_many_selected_processes_are_read_like_all() -> None:
    program = ProcessProgram(PROCESS_READER, THREADS)
    try:
        every = program.ask([0]).values.shape[1]
        assert program.ask([0], [os.getpid()]).values.shape[1] < every
        assert program.ask([0], range(2, 258)).tasks is not None
        assert program.ask([0], range(2, 300)).values.shape[1] > every // 2
    finally:
        program.close()


def test_threads_beyond_the_limit_are_missing(
    threads: ThreadSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ThreadSource, "_most", 10)
    sample = threads.fetch()
    assert sample.points == 10 * len(NAMES)
    assert {*sample.missing} == {*NAMES}
    gap = sample.missing[NAMES[0]]
    assert gap.cause.reason is GapReason.UNSUPPORTED
    assert "name the processes" in gap.cause.detail
    assert gap.points > 10


def test_source_without_the_kernel_says_why() -> None:
    source = NoThreads("no right to read the kernel")
    source.select(NAMES[:2])
    sample = source.fetch()
    assert {*sample.missing} == {*NAMES[:2]}
    assert "no right" in sample.missing[NAMES[0]].cause.detail


@pytest.mark.serial
def test_bridge_samples_the_threads_of_a_named_process(
    pmcd: Pmcd, store: VictoriaMetrics, new_bridge: NewBridge, tmp_path: Path
) -> None:
    bridge = new_bridge(pmcd.address, store.url, process_reader=str(PROCESS_READER))
    with loaded(tmp_path / "x") as pid:
        name = f"{pid:06d} {sys.executable}"
        metrics = [PREFIX + "cpu_time", PREFIX + "processor"]
        bridge.plan(metrics, 0.1, instances=[name, "000999 none"])
        bridge.start()
        bridge.wait_for(lambda status: status["written"] > 300)
        gaps = bridge.status()["metrics"]
        lasting = sorted(tasks(pid))[:5]
    assert {*gaps} == {*metrics}
    assert gaps[metrics[0]]["detail"] == "no such instance at present"
    assert bridge.end() == 0
    found = store.values()
    assert_all_stored(bridge.status(), found)
    for tid in lasting:
        assert found[f"supertwin_thread_cpu_time{{{name}:tid={tid}}}"]
    assert all(f"{{{name}:tid=" in series for series in found)


@pytest.mark.serial
def test_bridge_without_rights_says_why_there_are_no_threads(
    pmcd: Pmcd, store: VictoriaMetrics, new_bridge: NewBridge, tmp_path: Path
) -> None:
    reader = without_rights(tmp_path)
    bridge = new_bridge(pmcd.address, store.url, process_reader=str(reader))
    bridge.sample([NAMES[0]], 0.1)
    bridge.wait_for(lambda status: status["metrics"])
    gap = bridge.status()["metrics"][NAMES[0]]
    assert gap["reason"] == GapReason.UNSUPPORTED
    assert "CAP_BPF and CAP_PERFMON" in gap["detail"]
