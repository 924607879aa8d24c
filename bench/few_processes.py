"""What a plan of five processes costs on a machine with a thousand, by source."""

import time
from collections.abc import Iterator
from pathlib import Path

from bench.sampling.idle import NAME, idle_processes
from bench.table import Figure
from core.settings.tools import PROCESS_READER
from sampler_bridge.sources.processes.source import ProcessSource
from sampler_bridge.sources.processes.threads import ThreadSource

_PROCESSES, _NAMED, _PASSES, _WARM = 1_000, 5, 1_000, 50
_OF_PROCESSES = [
    *("proc.psinfo.utime", "proc.psinfo.stime", "proc.psinfo.vctxsw"),
    *("proc.psinfo.nvctxsw", "proc.psinfo.rss", "proc.io.rchar"),
]
_OF_THREADS = [
    f"supertwin.thread.{name}"
    for name in ("utime", "stime", "vctxsw", "nvctxsw", "minflt", "rchar")
]


def few_process_figures() -> Iterator[Figure]:
    """Measure passes of the program and of the bridge, of all and of five processes."""
    with idle_processes(_PROCESSES) as pids:
        named = [f"{pid:06d} {NAME}" for pid in pids[:_NAMED]]
        for what, source, metrics in (
            ("processes", ProcessSource(PROCESS_READER), _OF_PROCESSES),
            ("threads", ThreadSource(PROCESS_READER), _OF_THREADS),
        ):
            source.connect()
            source.select(metrics)
            every = _costs(source)
            source.narrow(named)
            few = _costs(source)
            source.close()
            title = (
                f"a pass of 6 metrics, {what} of {_NAMED} of {_PROCESSES:,} processes"
            )
            for part, one, all_ in zip(("program", "bridge"), few, every, strict=True):
                yield Figure(f"{title}: {part}", one, "µs", None, all_, "of all")


def _costs(source: ProcessSource) -> tuple[float, float]:
    """The CPU time of a pass: of the program, and of this process (µs)."""
    for _ in range(_WARM):
        source.fetch()
    before = _running(source), time.process_time()
    for _ in range(_PASSES):
        source.fetch()
    after = _running(source), time.process_time()
    program, own = (end - begin for begin, end in zip(before, after, strict=True))
    return program * 1e6 / _PASSES, own * 1e6 / _PASSES


def _running(source: ProcessSource) -> float:
    """Seconds that the program has run."""
    text = Path(f"/proc/{source.pid}/schedstat").read_text("utf-8")
    return int(text.split()[0]) / 1e9
