"""What the kernel gives of a process equals what PCP gives of it."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from sampler_bridge.sources.processes.source import ProcessSource
from sampling.sources.pcp_source import PcpSource
from sampling.sources.source import Sample, Series
from tests.servers import ENDS_WITH_US, wait_until

FOREVER = "import os, threading, time\nwhile True:\n    "
BUSY = FOREVER + "sum(range(10_000)); os.times(); os.getppid()"
FORKING = FOREVER + "os.fork() or os._exit(sum(range(20_000)) % 2); os.wait()"
THREADED = FOREVER + (
    "some = [threading.Thread(target=lambda: bytearray(300_000)) for _ in range(4)]; "
    "[one.start() for one in some]; [one.join() for one in some]"
)
WRITING = FOREVER + (
    "file = open({path!r}, 'wb+'); file.write(bytes(100_000)); file.flush(); "
    "os.fsync(file.fileno()); file.seek(0); file.read(); time.sleep(0.001)"
)
LOADS = {"busy": BUSY, "forking": FORKING, "threaded": THREADED, "writing": WRITING}

# Times are rounded down to 10 ms, and /proc may then move a part of them.
SPLIT = ("proc.psinfo.utime", "proc.psinfo.stime")
COUNTERS = (
    *("proc.psinfo.cutime", "proc.psinfo.cstime", "proc.psinfo.minflt"),
    *("proc.psinfo.maj_flt", "proc.psinfo.cmin_flt", "proc.psinfo.cmaj_flt"),
    "proc.psinfo.vctxsw",
    *("proc.psinfo.nvctxsw", "proc.io.rchar", "proc.io.wchar", "proc.io.syscr"),
    *("proc.io.syscw", "proc.io.read_bytes", "proc.io.write_bytes"),
    *("proc.io.cancelled_write_bytes", "proc.schedstat.cpu_time"),
    *("proc.schedstat.run_delay", "proc.schedstat.pcount"),
)
# Of a process that runs no other program and is not moved.
CONSTANT = (
    *("proc.psinfo.pid", "proc.psinfo.ppid", "proc.psinfo.tgid"),
    *("proc.psinfo.start_time", "proc.psinfo.nice", "proc.psinfo.policy"),
    *("proc.psinfo.rt_priority", "proc.psinfo.exit_signal"),
    *("proc.memory.textrss", "proc.memory.vmexe"),
)
# Of a process that waits.
STEADY = (
    *("proc.psinfo.threads", "proc.psinfo.processor", "proc.psinfo.vsize"),
    *("proc.psinfo.rss", "proc.memory.size", "proc.memory.datrss"),
    *("proc.memory.vmsize", "proc.memory.vmlock", "proc.memory.vmdata"),
    *("proc.memory.vmstack", "proc.memory.vmlib"),
)
METRICS = (*SPLIT, *COUNTERS, *CONSTANT, *STEADY)
ROUNDS = 20


def values(sample: Sample) -> dict[Series, float]:
    return {
        series: value
        for column in sample.columns
        for series, value in zip(column.series, column.values.tolist(), strict=True)
    }


def types(sample: Sample) -> dict[str, str]:
    return {
        series.metric: column.values.dtype.name
        for column in sample.columns
        for series in column.series
    }


@pytest.fixture
def running(tmp_path: Path) -> Iterator[dict[str, int]]:
    """Start a process of each kind; gives their numbers."""
    script = {name: text.format(path=f"{tmp_path}/x") for name, text in LOADS.items()}
    words = {name: [sys.executable, "-c", text] for name, text in script.items()}
    words["waiting"] = ["sleep", "1000"]
    with ExitStack() as stack:
        started = {
            name: stack.enter_context(subprocess.Popen([*ENDS_WITH_US, *command]))
            for name, command in words.items()
        }
        yield {name: process.pid for name, process in started.items()}
        for process in started.values():
            process.kill()


def of(found: Mapping[Series, float], pid: int) -> dict[str, float]:
    """The values of one process by metric."""
    return {
        series.metric: value
        for series, value in found.items()
        if (series.instance or "").startswith(f"{pid:06d} ")
    }


def test_values_lie_between_those_of_pcp_before_and_after(
    source: PcpSource, kernel: ProcessSource, running: dict[str, int]
) -> None:
    command = Path(f"/proc/{running['waiting']}/comm")
    wait_until(lambda: command.read_text("utf-8") == "sleep\n")
    source.select(METRICS)
    kernel.select(METRICS)
    assert set(kernel.fetch().missing) == set()
    wait_until(lambda: not source.fetch().missing, what="the agent of processes")
    for _ in range(ROUNDS):
        before, found, after = (values(one.fetch()) for one in (source, kernel, source))
        for name, pid in running.items():
            first, ours, last = of(before, pid), of(found, pid), of(after, pid)
            assert first.keys() == ours.keys() == set(METRICS)
            for metric in COUNTERS:
                assert first[metric] <= ours[metric] <= last[metric], (name, metric)
            for metric in SPLIT:
                assert first[metric] <= ours[metric] <= last[metric] + 20, name
            sums = [sum(one[metric] for metric in SPLIT) for one in (first, ours, last)]
            assert sums[0] - 10 <= sums[1] <= sums[2] + 10, (name, sums)
            exact = CONSTANT + (STEADY if name == "waiting" else ())
            differing = [m for m in exact if first[m] == last[m] != ours[m]]
            assert not differing, (name, differing)


def test_every_load_uses_what_it_should(
    kernel: ProcessSource, running: dict[str, int]
) -> None:
    """Otherwise equal values would say little."""
    uses = {
        "busy": ("proc.psinfo.utime", "proc.schedstat.cpu_time"),
        "forking": ("proc.psinfo.cutime", "proc.psinfo.cmin_flt"),
        "threaded": ("proc.psinfo.stime", "proc.psinfo.minflt"),
        "writing": ("proc.io.wchar", "proc.io.rchar", "proc.io.write_bytes"),
    }
    kernel.select(METRICS)
    start = values(kernel.fetch())

    def grew() -> bool:
        now = values(kernel.fetch())
        return all(
            of(now, running[name])[metric] > of(start, running[name])[metric] + 20
            for name, metrics in uses.items()
            for metric in metrics
        )

    wait_until(grew)


def test_names_types_and_metrics_are_those_of_pcp(
    source: PcpSource, kernel: ProcessSource
) -> None:
    """Of kernel threads, apart from those that say what they work on at present."""
    source.select(METRICS)
    kernel.select(METRICS)
    wait_until(lambda: not source.fetch().missing, what="the agent of processes")
    theirs, ours = source.fetch(), kernel.fetch()
    assert types(ours) == types(theirs)
    found = {
        series
        for series, parent in values(ours).items()
        if series.metric == "proc.psinfo.ppid" and parent == 2
    }
    named = {one for one in found if "(kworker/" not in (one.instance or "")}
    assert named <= values(theirs).keys()
    assert len(named) > 3


@pytest.mark.parametrize(
    "word",
    ["a b c", "ü ö", "\t tab", "", b"\xff bad".decode(errors="surrogateescape"),
     "x" * 600, "a\nb", " lead", 'q"uo\\te', "(paren)", "/a/very long/path name"],
    ids=range(11),
)  # fmt: skip
def test_odd_command_lines_have_the_names_of_pcp(
    source: PcpSource, kernel: ProcessSource, word: str
) -> None:
    metric = ["proc.psinfo.pid"]
    source.select(metric)
    kernel.select(metric)
    command = [*ENDS_WITH_US, "bash", "-c", 'exec -a "$1" sleep 100', "bash", word]
    with subprocess.Popen(command) as process:
        name = Path(f"/proc/{process.pid}/comm")
        wait_until(lambda: name.read_text() == "sleep\n")
        theirs, ours = values(source.fetch()), values(kernel.fetch())
        process.kill()
    assert {s: v for s, v in ours.items() if v == process.pid} == {
        s: v for s, v in theirs.items() if v == process.pid
    }
