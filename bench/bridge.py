"""The bridge at 1 Hz: CPU, memory, and the delay until a point can be read."""

import os
import statistics
import time
from pathlib import Path

import httpx

from bench.table import Figure
from core.linux.pmapi import NO_METRIC, Context, pmid_array
from tests.servers import wait_until
from tests.stack import HOST, Stack

SECONDS = 60
FETCHES = 200
SELECTOR = f'kernel_all_pswitch{{hostname="{HOST}"}}'


def bridge_figures(stack: Stack) -> list[Figure]:
    """One minute of the monitor plan."""
    wait_until(lambda: _latest(stack) is not None, 30, "points")
    pid = int(stack.children()["bridge"]["pid"])
    before, began = _cpu_seconds(pid), time.monotonic()
    points = stack.bridge()["written"]
    visible = _visibility(stack, SECONDS)
    busy = _cpu_seconds(pid) - before
    took = time.monotonic() - began
    points = stack.bridge()["written"] - points
    return [
        Figure(
            "bridge: CPU of one core, monitor set at 1 Hz",
            100 * busy / took,
            "%",
            0.3,
            100 * _bare_fetch(stack),
            "pmFetch alone of the same metrics, nothing decoded or kept",
        ),
        Figure("bridge: resident memory", _rss_mb(pid), "MB", 50),
        Figure(
            "bridge: a point is readable after its tick, median",
            statistics.median(visible),
            "s",
            1.5,
        ),
        Figure(
            "bridge: a point is readable after its tick, worst", max(visible), "s", 1.5
        ),
        Figure("bridge: points a second", points / took, ""),
    ]


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
    """Seconds from a tick to the first query result that contains its point."""
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
