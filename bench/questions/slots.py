"""What questions are about: the values that slots of templates may take."""

import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from bench.questions.facts import Host, World, at

GAUGES = (
    "kernel.all.load",
    "mem.util.free",
    "mem.numa.util.free",
    "denki.rapl.rate",
    "lmsensors.coretemp-isa-0000.package_id",
)
COUNTERS = (
    "kernel.percpu.cpu.user",
    "network.interface.in.bytes",
    "network.interface.out.bytes",
    "disk.dev.avactive",
    "mem.numa.alloc.miss",
)
_SHARES = (0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.9)
_RECENT = {
    "in the last hour": "now-1h",
    "during the past hour": "now-1h",
    "in the last 20 minutes": "now-20m",
    "in the last two hours": "now-2h",
    "in the past 120 minutes": "now-2h",
}
# Minutes before the end of the facts.
_FIXED = ((60, 0), (120, 60), (90, 15), (20, 5), (150, 30))
_STEPS = ("5m", "10m", "15m")

Values = dict[str, Any]


def fill(names: Iterable[str], world: World, choose: random.Random) -> Values:
    """A value for each slot of a template, and for those that these depend on."""
    host, sampled = choose.choice(world.hosts), choose.choice(world.sampled)
    values: Values = {"host": host.name, "sampled": sampled.name}
    values |= _times(world, choose)
    values |= _thresholds(choose)
    for name in sorted(set(names) - values.keys()):
        values[name] = _CHOICES[name](world, host, sampled, choose)
    return values


def _times(world: World, choose: random.Random) -> Values:
    """A range of time, in words and as parameters, relative or fixed."""
    first, last = choose.choice(_FIXED)
    start, end = at(world.end - 60 * first), at(world.end - 60 * last)
    fixed = f"from {start} to {end}"
    values = {"from": start, "to": end, "fixed": fixed}
    if choose.random() < 0.5:
        return values | {"time": fixed, "since": start, "until": end}
    words = choose.choice(list(_RECENT))
    return values | {"time": words, "since": _RECENT[words], "until": "now"}


def _thresholds(choose: random.Random) -> Values:
    """Limits that are said in another unit than the query has."""
    share, minutes = choose.choice(_SHARES), choose.choice((60, 90, 100, 110, 115))
    percent = round(100 * share)
    return {
        "share": share,
        "percent": percent,
        "minutes": minutes,
        "seconds": 60 * minutes,
    }


_Choice = Callable[[World, Host, Host, random.Random], Any]


def _among(*values: Any) -> _Choice:
    return lambda _world, _host, _sampled, choose: choose.choice(values)


def _users(world: World) -> list[str]:
    return sorted({job.user for host in world.hosts for job in host.jobs})


def _jobs(world: World, *, running: bool | None) -> list[str]:
    return sorted(
        {
            job.job
            for host in world.hosts
            for job in host.jobs
            if running in (None, job.ended is None)
        }
    )


_CHOICES: Mapping[str, _Choice] = {
    "cpu": lambda _w, host, _s, choose: choose.choice(host.shape.cpus),
    "scpu": lambda _w, _h, sampled, choose: choose.choice(sampled.shape.cpus),
    "socket": lambda _w, host, _s, choose: choose.randrange(host.shape.sockets),
    "level": _among(1, 2, 3),
    "shared": _among(2, 3),
    "count": _among(2, 3, 4),
    "two": _among(2),
    "threads": _among(8, 12, 16),
    "flag": _among("avx2", "avx512f"),
    "partition": _among("batch", "gpu"),
    "nic": _among("eth0", "ib0"),
    "pages": _among(5, 20, 100, 500),
    "faults": _among(300, 1000, 2000, 4000),
    "periods": _among(5, 10, 20, 40),
    "plan": _among("faults", "slow", "monitor"),
    "program": _among("solver", "stream"),
    "outcome": _among("completed", "failed"),
    "property": _among("kernel", "bios"),
    "celsius": _among(50, 65, 80, 90),
    "watts": _among(80, 150, 200, 250, 300),
    "hours": _among(1, 2),
    "days": _among(20, 30, 40, 45),
    "step": _among(*_STEPS),
    "gauge": _among(*GAUGES),
    "steady": _among(*GAUGES[2:], "kernel.all.load"),
    "counter": _among(*COUNTERS),
    "user": lambda world, _h, _s, choose: choose.choice(_users(world)),
    "job": lambda world, _h, _s, choose: choose.choice(_jobs(world, running=None)),
    "running": lambda world, _h, _s, choose: choose.choice(_jobs(world, running=True)),
    "ended": lambda world, _h, _s, choose: choose.choice(_jobs(world, running=False)),
}
