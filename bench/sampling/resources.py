"""Figures 5.1 to 5.4 of the thesis: CPU, memory and network that sampling uses.

The thesis sampled up to 50 metrics: 24 of pmdaperfevent, 20 of pmdalinux, 6 of
pmdaproc. Here pmdalinux provides 44, as hardware counters are not available everywhere.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.sampling import overhead, throughput
from bench.sampling.ground import Ground, period_of, running_bridge, stop_bridge
from bench.sampling.usage import Meter, Usage

_OTHERS = (
    *(f"kernel.all.cpu.{name}" for name in ("user", "sys", "idle", "nice")),
    *(f"kernel.all.cpu.{name}" for name in ("wait.total", "irq.hard", "irq.soft")),
    *(f"kernel.all.{name}" for name in ("nprocs", "runnable", "blocked", "uptime")),
    *(f"mem.util.{name}" for name in ("used", "active", "inactive", "slab", "mapped")),
    *(f"disk.all.{name}" for name in ("read", "write", "read_bytes", "write_bytes")),
)
LINUX = (*overhead.METRICS, *_OTHERS)
_TENS = 5
_WARM_UP = 2.0


@dataclass(frozen=True)
class Taken:
    """What every process used, and PMCD's traffic from agents to clients in kB/s.

    ``points`` are those fetched a second.
    """

    hertz: int
    metrics: int
    usage: Mapping[str, Usage]
    network: float
    points: float


def metrics_of(number: int) -> list[str]:
    """This many metrics; every ten contain one of processes, the last ten two."""
    found: list[str] = []
    linux, proc = iter(LINUX), iter(throughput.METRICS)
    for ten in range(1, _TENS + 1):
        wanted = 2 if ten == _TENS else 1
        found += [next(proc) for _ in range(wanted)]
        found += [next(linux) for _ in range(10 - wanted)]
    return found[:number]


def measure_resources(
    ground: Ground, cells: Sequence[tuple[int, int]], seconds: float
) -> Iterator[Taken]:
    """Measure each frequency and number of metrics."""
    for hertz, number in cells:
        with running_bridge(ground, metrics_of(number), period_of(hertz)) as bridge:
            time.sleep(_WARM_UP)
            before = bridge.status()["fetched"]
            meter = Meter(ground.parts() | {"bridge": bridge.pid})
            before_kb, began = passed_on(ground.pmcd.pid), time.monotonic()
            time.sleep(seconds)
            took = time.monotonic() - began
            network = (passed_on(ground.pmcd.pid) - before_kb) / took
            usage = meter.read()
            points = (bridge.status()["fetched"] - before) / took
            stop_bridge(bridge)
        yield Taken(hertz, number, usage, network, points)


def passed_on(pid: int) -> float:
    """kB that PMCD has read from its agents' pipes, and so sent to its clients.

    The kernel does not count what a process sends through a socket; PMCD adds only some
    20 bytes a fetch to the values.
    """
    text = Path(f"/proc/{pid}/io").read_text()
    return int(text.partition("rchar: ")[2].split()[0]) / 1000
