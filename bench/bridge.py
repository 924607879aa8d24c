"""The bridge at 1 Hz: CPU, memory, and the delay until a point can be read."""

import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx

from bench.table import Figure
from core.linux.pmapi import NO_METRIC, Context, pmid_array
from tests.sampler_bridge.servers import BridgeProcess
from tests.servers import wait_until
from tests.stack import HOST, Stack

SECONDS = 60
AT_REST = 120
# After it, a bridge knows that nobody reads points: see sampler_bridge/sending/readers.
UNREAD_AFTER = 45
NOTICED_WITHIN = 10
FURTHER = 20
FETCHES = 200
SELECTOR = f'kernel_all_pswitch{{hostname="{HOST}"}}'


def bridge_figures(stack: Stack) -> Iterator[Figure]:
    """The monitor plan: two minutes in which nobody reads, and one of reading."""
    wait_until(lambda: _latest(stack) is not None, 30, "points")
    pid = int(stack.children()["bridge"]["pid"])
    time.sleep(UNREAD_AFTER)
    points, rest = stack.bridge()["written"], _busy(pid)
    time.sleep(AT_REST)
    at_rest = rest()
    rate = (stack.bridge()["written"] - points) / AT_REST
    read = _busy(pid)
    visible = _visibility(stack, SECONDS)
    while_read = read()
    yield Figure(
        "bridge: CPU of one core, monitor set at 1 Hz, nobody reads",
        at_rest,
        "%",
        0.3,
        100 * _bare_fetch(stack),
        "pmFetch alone of the same metrics, nothing decoded or kept",
    )
    yield Figure("bridge: CPU of one core while points are read", while_read, "%")
    yield Figure("bridge: resident memory", _rss_mb(pid), "MB", 50)
    yield Figure(
        "bridge: a point is readable after its tick, median",
        statistics.median(visible),
        "s",
        1.5,
    )
    # Without the time in which the bridge notices a reader.
    yield Figure(
        "bridge: a point is readable after its tick, worst", max(visible), "s", 1.5
    )
    yield Figure("bridge: points a second", rate, "")
    yield Figure(
        "bridge: CPU of one core for each further host, nobody reads",
        _host_cost(stack),
        "%",
        0.05,
    )


def _busy(pid: int) -> Callable[[], float]:
    """Start to measure the CPU time of a process; call the result for % of a core."""
    before, began = _cpu_seconds(pid), time.monotonic()

    def share() -> float:
        return 100 * (_cpu_seconds(pid) - before) / (time.monotonic() - began)

    return share


def _host_cost(stack: Stack) -> float:
    """% of a core for each host that a bridge samples in addition to its own one.

    Two bridges with one host and with many run at the same time. All hosts have the
    plan of this machine and its PMCD.
    """
    plan = stack.home / "bridge/hosts" / HOST / "plan.json"
    address = stack.bridge()["pcp"]["address"]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
        bridges = []
        for further in (0, FURTHER):
            bridge = BridgeProcess(Path(folder) / str(further), address, stack.store)
            names = [f"n{at + 1}" for at in range(1 + further)]
            for name in names:
                bridge.of(name).mkdir(parents=True)
                shutil.copy(plan, bridge.of(name) / "plan.json")
            bridge.know(**dict.fromkeys(names[1:], address))
            bridges.append(running.enter_context(bridge))
        time.sleep(UNREAD_AFTER)
        busy = [_busy(bridge.pid) for bridge in bridges]
        time.sleep(AT_REST)
        one, many = (share() for share in busy)
        return (many - one) / FURTHER


def _bare_fetch(stack: Stack) -> float:
    """CPU seconds that a single pmFetch of the whole plan costs its client."""
    rows = stack.sparql(
        "PREFIX st: <https://w3id.org/supertwin/ns#> SELECT DISTINCT ?name "
        "{ ?plan a st:SamplingPlan ; st:samples/st:samplerName ?name }"
    )
    with Context(stack.bridge()["pcp"]["address"]) as context:
        pmids = context.identifiers([name for (name,) in rows])
        wanted = pmid_array([pmid for pmid in pmids if pmid != NO_METRIC])
        before = time.process_time()
        for _ in range(FETCHES):
            context.fetch(wanted)
        return (time.process_time() - before) / FETCHES


def _visibility(stack: Stack, seconds: int) -> list[float]:
    """Seconds from a tick to the first query result that contains its point.

    The bridge first gets the time to notice that somebody reads.
    """
    noticed = time.monotonic() + NOTICED_WITHIN
    while time.monotonic() < noticed:
        _latest(stack)
        time.sleep(0.5)
    delays, seen = [], _latest(stack)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        latest = _latest(stack)
        if latest is not None and latest != seen:
            delays.append(time.time() - latest)
            seen = latest
        time.sleep(0.02)
    return delays


def _latest(stack: Stack) -> float | None:
    answer = httpx.get(
        f"{stack.store}/api/v1/query",
        params={"query": f"tlast_over_time({SELECTOR}[10s])", "nocache": "1"},
        timeout=10,
    ).json()
    found = answer["data"]["result"]
    return float(found[0]["value"][1]) if found else None


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _rss_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise AssertionError(f"no VmRSS of {pid}")
