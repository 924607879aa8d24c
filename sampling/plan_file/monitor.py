"""The monitor set: the metrics that every host is sampled for."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import yaml

from sampling.errors import MonitorError

_WILD = frozenset("*?[")
MONITOR_FILE = Path(__file__).with_name("monitor.yaml")


def load_monitor(path: Path = MONITOR_FILE) -> list[str]:
    """Read the monitor set: PCP metric names and ``*`` patterns, in file order.

    Raises MonitorError for a file that does not hold groups of distinct names.
    """
    try:
        groups = yaml.safe_load(path.read_text())
    except (OSError, yaml.YAMLError) as error:
        why = " ".join(str(error).split())
        raise MonitorError(f"{path} cannot be read ({why}): fix the file") from error
    if not isinstance(groups, dict) or not groups:
        raise MonitorError(f"{path} holds no groups: write 'group: [metric, …]'")
    return _distinct(path, [name for names in groups.values() for name in names or []])


def plan_names(monitor: Sequence[str], exposed_names: Iterable[str]) -> list[str]:
    """The names of a monitor set that a host exposes, in the set's order.

    A ``*`` in the set stands for any text.
    """
    exposed = set(exposed_names)
    found: dict[str, None] = {}
    for pattern in monitor:
        found |= dict.fromkeys(_named(pattern, exposed))
    return list(found)


def _named(pattern: str, exposed: set[str]) -> list[str]:
    """The exposed names that match a pattern.

    Most patterns are plain names, which need no comparison with every other name.
    """
    if not _WILD & set(pattern):
        return [pattern] if pattern in exposed else []
    return sorted(name for name in exposed if fnmatchcase(name, pattern))


def _distinct(path: Path, names: list[object]) -> list[str]:
    texts = [name for name in names if isinstance(name, str)]
    if len(texts) != len(names) or len(set(texts)) != len(texts) or not texts:
        raise MonitorError(f"{path} must list distinct metric names, at least one")
    return texts
