"""The metrics of a control group, the same for versions 1 and 2.

PCP has `cgroup.*` too, but with other names for each version, without pids, and, if
both versions are mounted, with nothing of version 2.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from core.linux.cgroups.groups import UNIFIED
from core.linux.perf_event import PerfEvent
from sampling.sources.own_metrics import OwnMetric

PREFIX = "supertwin.cgroup."
# Not an agent of PCP: their numbers end at 511.
DOMAIN = "513.0"
# The share of time in which events were counted; the kernel may have to take turns.
COUNTED = PREFIX + "perf.counted"
TABLE = Path(__file__).with_suffix(".yaml")


class CgroupFileKey(NamedTuple):
    """Where a value is found: controller, file, key in it, and factor of its unit."""

    controller: str
    file: str
    key: str = ""
    factor: int = 1


class CgroupMetric(NamedTuple):
    """A metric, and the places of its values: the first that a group has is read.

    ``event`` is what is counted for a metric that no file has.
    """

    metric: OwnMetric
    places: tuple[CgroupFileKey, ...]
    event: PerfEvent | None
    is_monitored: bool


@cache
def cgroup_metrics() -> Mapping[str, CgroupMetric]:
    """All metrics by name, from the table next to this module."""
    blocks = yaml.load(TABLE.read_bytes(), Loader=yaml.CSafeLoader)
    return {one.metric.name: one for block in blocks for one in _block(block)}


@cache
def cgroup_events() -> Mapping[str, PerfEvent]:
    """The events of the metrics that are counted."""
    return {name: one.event for name, one in cgroup_metrics().items() if one.event}


def monitored_cgroup_metrics() -> list[str]:
    """The names of those that the plan `monitor` samples."""
    return [name for name, one in cgroup_metrics().items() if one.is_monitored]


def _block(block: Mapping[str, Any]) -> Iterator[CgroupMetric]:
    for size in block.get("sizes", ("",)):
        for name, about in block["metrics"].items():
            own = about if isinstance(about, dict) else {"about": about}
            row, words = {**block, **own}, {"name": name, "size": size}
            metric = OwnMetric(
                (PREFIX + block.get("prefix", "") + name).format(**words),
                *("u64", block["semantics"], block["units"], DOMAIN, own["about"]),
            )
            places = [
                _place(version, row[version].format(**words))
                for version in ("v1", "v2")
                if row.get(version)
            ]
            event = (
                PerfEvent(*map(int, row["event"].split())) if "event" in row else None
            )
            monitored = block.get("monitored", False)
            yield CgroupMetric(metric, tuple(places), event, monitored)


def _place(version: str, text: str) -> CgroupFileKey:
    """Parse ``CONTROLLER/FILE KEY *FACTOR``; version 2 has no controller."""
    words = text.split()
    factor = int(words.pop()[1:]) if words[-1].startswith("*") else 1
    controller, _, file = words[0].rpartition("/")
    key = words[1] if len(words) > 1 else ""
    return CgroupFileKey(controller if version == "v1" else UNIFIED, file, key, factor)
