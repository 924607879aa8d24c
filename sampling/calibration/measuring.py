"""Measures runs one after another on a private stack: load, CPU, memory and bytes."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

import httpx

from core.settings.accounts import store_read_account
from core.settings.settings import Settings
from core.settings.state import COUNTING, read_json
from core.stores.datasets import dataset
from ingest.describe.plan import describe_sampling
from ingest.triples import Triples, insertion
from ontology.iris import Iris
from ontology.selectors import series_name
from ontology.terms import ST
from sampling.account.status_lines import status_path
from sampling.calibration.counters import CounterPmcd
from sampling.cost.errors import CalibrationError
from sampling.cost.load import BRIDGE, PMCD, STORE, FetchSize, load_of
from sampling.cost.model import CalibrationRun
from sampling.cost.runs import SamplingRun
from sampling.cost.usage import CpuMeter, rss_bytes
from sampling.events.event import is_counter
from sampling.plan_file.graph_plan import read_plan
from sampling.plan_file.notify import notify

# A multiple of all periods of the runs, and of the time between reads of the plan.
_WINDOW = 3.0
_CHANGE_WITHIN, _SETTLE, _REST, _LOOK = 10.0, 0.5, 1.5, 0.05
_PLAN = "cost"
_TRIES = 3


class CalibrationStack:
    """Measures runs on a private stack; ``parts`` gives the current pids of its parts.

    PMCD restarts an agent that ends, under another pid. Without ``counters``, no run
    may have PMU events.
    """

    def __init__(
        self,
        settings: Settings,
        parts: Callable[[], Mapping[str, int]],
        sizes: Mapping[str, FetchSize],
        counters: CounterPmcd | None,
    ) -> None:
        self._settings = settings
        self._parts = parts
        self._sizes = sizes
        self._counters = counters
        self._iris = Iris(settings.base)
        self._twin = dataset(settings, "twin")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._twin.close()

    async def measure(self, run: SamplingRun) -> CalibrationRun:
        """Sample what a run asks for, and measure it for a window.

        If a part ends meanwhile, the run is measured again. Raises CalibrationError
        after three tries, or if the bridge does not take up the plan.
        """
        await self._plan(run)
        for _ in range(_TRIES):
            # Half a second off the ticks, so that no tick is split.
            await asyncio.sleep(_SETTLE + -(time.time() + _SETTLE + 0.5) % 1)
            with contextlib.suppress(OSError, KeyError):
                return await self._measured(run)
        raise CalibrationError(
            f"a process of the stack ended {_TRIES} times while {run.title!r} was "
            "measured: try again"
        )

    async def _measured(self, run: SamplingRun) -> CalibrationRun:
        before, parts = self.status(), self._parts()
        meter = CpuMeter(parts)
        await asyncio.sleep(_WINDOW)
        cpu, others = meter.read(), meter.others()
        plan = read_plan(self._twin, self._settings.host)
        # Both PMCDs count as one part.
        cpu[PMCD] += cpu.pop(COUNTING, 0.0)
        return CalibrationRun(
            run.title,
            load_of(plan, self._sizes),
            cpu,
            {part: rss_bytes(parts[part]) for part in (BRIDGE, STORE)},
            others,
            _missing(before, self.status()),
        )

    def status(self) -> dict[str, Any]:
        """The bridge's status of this host."""
        folder = self._settings.home / "bridge"
        return read_json(status_path(folder, self._settings.host)) or {}

    async def at_rest(self) -> dict[str, Any]:
        """The bridge's status when no points wait to be written."""
        await asyncio.sleep(_REST)
        return self.status()

    async def _plan(self, run: SamplingRun) -> None:
        """Make this the host's only plan; return when the bridge has taken it up."""
        names = {name for request in run.requests for name in request.metrics}
        if self._counters and any(map(is_counter, names)):
            await asyncio.to_thread(self._counters.count, names)
        graph = self._iris.plan_graph(self._settings.host, _PLAN)
        self._twin.update(f"DROP SILENT GRAPH <{graph}>")
        self._twin.update(insertion({graph: self._described(run)}))
        written = datetime.now(UTC)
        notify(self._settings.home / "bridge")
        deadline = time.monotonic() + _CHANGE_WITHIN
        while not self._read_since(written):
            if time.monotonic() > deadline:
                raise CalibrationError(
                    f"the bridge did not start {run.title!r} within "
                    f"{_CHANGE_WITHIN:g} s: calibrate when the machine is less busy"
                )
            await asyncio.sleep(_LOOK)

    def _read_since(self, moment: datetime) -> bool:
        read_at = self.status().get("plan", {}).get("read_at")
        return read_at is not None and datetime.fromisoformat(read_at) > moment

    def _described(self, run: SamplingRun) -> Triples:
        triples, host = Triples(), self._settings.host
        node = self._iris.host(host)
        triples.node(node, ST.ComputeNode, {ST.hostname: host})
        if self._counters:
            triples.link(node, {ST.perfeventSocket: str(self._counters.socket)})
        for number, request in enumerate(run.requests):
            for name in request.metrics:
                metric = self._iris.metric(name)
                triples.node(
                    metric,
                    ST.Metric,
                    {ST.samplerName: name, ST.dbName: series_name(name)},
                )
                plan = describe_sampling(
                    triples,
                    self._iris,
                    host,
                    f"{_PLAN}{number}",
                    request.period_ms / 1000,
                    name,
                    metric,
                    {},
                )
                triples.link(plan, {ST.samplesInstance: request.instance})
        return triples


def count_series(settings: Settings) -> int:
    """How many series the store has ever seen."""
    url = f"{settings.store_read}/api/v1/series/count"
    account = store_read_account(settings)
    answer = httpx.get(url, auth=account, trust_env=False, timeout=30)
    return int(answer.raise_for_status().json()["data"][0])


def _missing(before: Mapping[str, Any], after: Mapping[str, Any]) -> float:
    """The share of the points expected between two moments that are missing."""
    expected = after["expected"] - before["expected"]
    lost = sum(after["reasons"].values()) - sum(before["reasons"].values())
    return lost / expected if expected else 0.0
