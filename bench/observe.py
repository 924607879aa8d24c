"""What an observation adds to a command's time, and the error of its totals.

The totals are compared with the kernel's own totals of the ended command (`wait4`), and
with the bytes that it is known to read and write.
"""

import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

from bench.table import Figure
from tests.servers import wait_until
from tests.stack import Stack

RUNS = 15
HERTZ = (1, 2, 4, 8, 16, 32, 64)
NUMBERS = (1, 8, 24)
_GOAL_MS, _GOAL_PERCENT, _GOAL_HERTZ = 150, 0.5, 8
# Times are long because CPU time is counted in steps of 10 ms.
_PAGES, _CHUNK, _CHUNKS, _SPIN, _YIELDS = 60_000, 1 << 20, 300, 3.0, 20_000
# Faults pages in, reads, writes, yields its CPU to a child, and computes for a while.
# The child is not waited for: otherwise its usage would count as its parent's.
WORK = f"""
import mmap, os, signal
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
room = mmap.mmap(-1, 4096 * {_PAGES})
room[::4096] = bytes({_PAGES})
source, sink = os.open('/dev/zero', os.O_RDONLY), os.open('/dev/null', os.O_WRONLY)
for _ in range({_CHUNKS}):
    os.write(sink, os.read(source, {_CHUNK}))
child = os.fork()
for _ in range({_YIELDS} if child else 1 << 62):
    os.sched_yield()
os.kill(child, signal.SIGKILL)
while os.times().user < {_SPIN}:
    pass
"""
# Metrics with a known total come first.
METRICS = (
    "proc.psinfo.minflt",
    "proc.psinfo.utime",
    "proc.io.rchar",
    "proc.io.wchar",
    "proc.psinfo.nvctxsw",
    "proc.psinfo.stime",
    "proc.psinfo.rss",
    "proc.psinfo.vsize",
    "proc.psinfo.maj_flt",
    "proc.psinfo.vctxsw",
    "proc.io.syscr",
    "proc.io.syscw",
    "kernel.all.pswitch",
    "kernel.all.intr",
    "kernel.all.cpu.user",
    "kernel.all.cpu.sys",
    "kernel.all.cpu.idle",
    "kernel.percpu.cpu.user",
    "kernel.percpu.cpu.sys",
    "mem.vmstat.pgfault",
    "mem.vmstat.pgalloc_normal",
    "mem.util.free",
    "mem.util.used",
    "kernel.all.load",
)
_NODE = re.compile(r"supertwin: completed after [\d.]+ s: (\S+)")


class Truth(NamedTuple):
    """The known usage of a run by PCP metric, and the usage in its record."""

    known: dict[str, float]
    recorded: dict[str, float]

    def errors(self) -> Iterator[tuple[str, float]]:
        """Relative errors in % by metric; a missing total counts as 100."""
        for name, value in self.known.items():
            if value:
                yield name, 100 * abs(self.recorded.get(name, 0.0) - value) / value


def overhead_figures(stack: Stack) -> Iterator[Figure]:
    """Medians of paired runs: the bare command, and the same command observed."""
    plain = _paired(stack, ())
    yield Figure("observe adds to `true`", plain, "ms", _GOAL_MS)
    sampled = _paired(stack, ("--metrics", "kernel.all.pswitch", "--every", "100ms"))
    yield Figure("observe adds to `true`, a metric sampled", sampled, "ms", _GOAL_MS)


def accuracy_figures(stack: Stack) -> Iterator[Figure]:
    """The largest error of each cell, in %."""
    for number in NUMBERS:
        for hertz in HERTZ:
            truth = _observed(stack, METRICS[:number], 1000 // hertz)
            worst, name = max((error, name) for name, error in truth.errors())
            yield Figure(
                f"totals of a run, {number} metrics at {hertz} Hz: worst error",
                worst,
                "%",
                _GOAL_PERCENT if hertz <= _GOAL_HERTZ else None,
                against=f"wait4 and known bytes; {name}",
            )


def _paired(stack: Stack, words: tuple[str, ...]) -> float:
    added = []
    for at in range(RUNS + 1):
        bare = _seconds(["true"], stack)
        seen = _seconds(_observe(*words, "--", "true"), stack)
        if at:  # the first run reads everything from the disk
            added.append(1000 * (seen - bare))
    return statistics.median(added)


def _observe(*words: str) -> list[str]:
    return [sys.executable, "-m", "supertwin", "observe", *words]


def _seconds(argv: list[str], stack: Stack) -> float:
    began = time.perf_counter()
    subprocess.run(argv, env=stack.env, check=True, capture_output=True)
    return time.perf_counter() - began


def _observed(stack: Stack, metrics: tuple[str, ...], period_ms: int) -> Truth:
    sampled = ("--metrics", ",".join(metrics), "--every", f"{period_ms}ms")
    argv = _observe(*sampled, "--", sys.executable, "-S", "-c", WORK)
    done = subprocess.run(
        argv, env=stack.env, check=True, capture_output=True, text=True
    )
    found = _NODE.search(done.stderr)
    assert found, done.stderr
    return _truth(stack, found[1], metrics)


def _truth(stack: Stack, node: str, metrics: tuple[str, ...]) -> Truth:
    ended = stack.home / "observations" / node.rsplit("/", 1)[1]
    wait_until(lambda: (ended / "recorded").exists(), seconds=20)
    events = [*map(json.loads, (ended / "events.jsonl").read_text().splitlines())]
    usage = next(event["rusage"] for event in events if event["event"] == "ended")
    pid = events[0]["pid"]
    known = {
        "proc.psinfo.minflt": usage["minor_faults"],
        "proc.psinfo.utime": 1000 * usage["user_seconds"],
        "proc.io.rchar": _CHUNK * _CHUNKS,
        "proc.io.wchar": _CHUNK * _CHUNKS,
        "proc.psinfo.nvctxsw": usage["involuntary_switches"],
    }
    rows = stack.run(
        "query", "observations/statistics", "--id", node, "--format", "json"
    )
    recorded = {
        row["metric"]: float(row["total"])
        for row in json.loads(rows.stdout)
        if row["total"] is not None and _is_of(pid, row["instance"] or "")
    }
    return Truth({name: known[name] for name in metrics if name in known}, recorded)


def _is_of(pid: int, instance: str) -> bool:
    number = instance.partition(" ")[0]
    return number.isdecimal() and int(number) == pid
