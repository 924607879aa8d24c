"""Reads the values of one control group from its files."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from core.linux.cgroups.files import parser_of, read_file
from core.linux.cgroups.groups import Cgroup
from sampler_bridge.sources.cgroup.counters import countable, folder_of
from sampling.sources.cgroup_exits import exit_metrics_of_groups
from sampling.sources.cgroup_metrics import CgroupFileKey, cgroup_metrics


class GroupReading(NamedTuple):
    """Values by metric, and the metrics whose files the bridge may not read."""

    values: Mapping[str, int]
    refused: frozenset[str]


class GroupReader:
    """Reads metrics of a group, each file once; missing files give no values.

    A metric is always read from the file that gave its first value, because hierarchies
    count from different times and in different units: a counter that is read from
    another file could decrease. ``previous`` is an earlier reader of the same path. If
    it is of the same group, each metric keeps its file.
    """

    def __init__(
        self,
        group: Cgroup,
        metrics: Iterable[str],
        previous: "GroupReader | None" = None,
    ) -> None:
        self.group = group
        self._kept: dict[str, CgroupFileKey] = {}
        if previous and previous.group.numbers.items() & group.numbers.items():
            self._kept = dict(previous._kept)
        self._files: dict[str, list[tuple[str, CgroupFileKey]]] = defaultdict(list)
        for metric in metrics:
            for place in cgroup_metrics()[metric].places:
                path = group.file(place.controller, place.file)
                if path is not None and self._kept.get(metric, place) == place:
                    self._files[path].append((metric, place))

    def read(self) -> GroupReading:
        """The current values, each from the first of its places that has one."""
        values: dict[str, int] = {}
        refused: set[str] = set()
        for path, wanted in self._files.items():
            if all(metric in values for metric, _ in wanted):
                continue
            try:
                figures = parser_of(wanted[0][1].file)(read_file(path))
            except PermissionError:
                refused.update(metric for metric, _ in wanted)
                continue
            except OSError:  # the group is gone, or lacks the controller
                continue
            for metric, place in wanted:
                if place.key not in figures:
                    continue
                if self._kept.setdefault(metric, place) == place:
                    values[metric] = figures[place.key] * place.factor
        return GroupReading(values, frozenset(refused - values.keys()))


def available_metrics(group: Cgroup) -> tuple[str, ...]:
    """The metrics that a group has values of, or would have if they were counted."""
    read = GroupReader(group, cgroup_metrics()).read().values
    folder = folder_of(group)
    counted = countable(folder.removesuffix(group.path)) if read and folder else ()
    ended = exit_metrics_of_groups() if read else ()
    return tuple(sorted({*read, *counted, *ended}))
