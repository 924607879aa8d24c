"""Bytes a point on disk of the monitor plan in its own store, and sampling cost."""

import time
from dataclasses import dataclass
from pathlib import Path

import httpx

from bench.sampling.counting import blocks
from bench.sampling.ground import HOST, Ground, running_bridge, stop_bridge
from bench.sampling.predicted import Predicted, Spent, calibrated, compared, load_now
from bench.sampling.usage import Meter, Usage
from sampling.cost.load import SamplingLoad
from sampling.plan_file.monitor import load_monitor, plan_names
from tests.servers import VictoriaMetrics, wait_until


@dataclass(frozen=True)
class OnDisk:
    """Numbers of points, series and ticks, and the bytes of points and of labels.

    ``cost`` is the predicted and the measured cost; None without a calibration.
    """

    points: int
    series: int
    period_ms: int
    seconds: float
    bytes_of_points: int
    bytes_of_index: int
    cost: Predicted | None = None

    @property
    def a_point(self) -> float:
        """Bytes a point in all."""
        return (self.bytes_of_points + self.bytes_of_index) / self.points


def measure_disk(ground: Ground, seconds: float, period_ms: int) -> OnDisk:
    """Sample the monitor plan; measure after the store has merged its parts."""
    model = calibrated()
    store = VictoriaMetrics(ground.folder / "disk")
    with store:
        load, usage = _sample(ground, store, seconds, period_ms)
        stamps = [
            block.stamps
            for block in blocks(store, f'{{hostname="{HOST}"}}', 0, _later())
        ]
        _merge(store)
    data = store.folder / "data/data"
    spent = Spent(
        points=sum(map(len, stamps)),
        series=len(stamps),
        seconds=seconds,
        bytes_of_points=_size(data / "small") + _size(data / "big"),
        bytes_of_index=_size(data / "indexdb") + _size(store.folder / "data/indexdb"),
        usage=usage,
    )
    return OnDisk(
        spent.points,
        spent.series,
        period_ms,
        seconds,
        spent.bytes_of_points,
        spent.bytes_of_index,
        compared(model, load, spent),
    )


def _sample(
    ground: Ground, store: VictoriaMetrics, seconds: float, period_ms: int
) -> tuple[SamplingLoad, dict[str, Usage]]:
    """The load of the plan, and what every process used during the run."""
    metrics = plan_names(load_monitor(), ground.pmcd.names())
    with running_bridge(ground, metrics, period_ms, store.url) as bridge:
        load = load_now(ground)
        pids = {"bridge": bridge.pid, "store": store.pid}
        meter = Meter(ground.parts() | pids)
        time.sleep(seconds)
        usage = meter.read()
        stop_bridge(bridge)
    return load, usage


def _merge(store: VictoriaMetrics) -> None:
    """Do what happens later in the background: data in memory becomes one part."""
    store.end()
    store.start()
    httpx.get(f"{store.url}/internal/force_merge", timeout=60).raise_for_status()
    time.sleep(1.0)  # until the merge has begun
    wait_until(lambda: _is_merged(store), 60, "the merge of the store's parts")
    store.end()


def _is_merged(store: VictoriaMetrics) -> bool:
    text = httpx.get(f"{store.url}/metrics").text
    return "vm_active_force_merges 0" in text


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _later() -> int:
    return time.time_ns() // 1_000_000 + 60_000
