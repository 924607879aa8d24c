"""The list of control groups, running and ended: what the bridge tells others.

Who describes them reads it from the bridge's folder whenever it changed, and misses
nothing of what came and went while he was away.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from cgroups.groups import Allowed, Group
from sampler_bridge.files import read_json

_LOG = logging.getLogger(__name__)

LEDGER_FILE = "cgroups.json"
_FORMAT = "supertwin-cgroups/1"


@dataclass(frozen=True)
class Life:
    """One group from when it was noticed to when its end was, in Unix ms.

    ``metrics`` are those that it gives values of.
    """

    path: str
    began: int
    versions: tuple[int, ...]
    numbers: Mapping[str, int]
    allowed: Allowed = field(default_factory=Allowed)
    metrics: tuple[str, ...] = ()
    ended: int | None = None

    def is_of(self, group: Group) -> bool:
        """Whether it is this group's life, and not of another by the same path."""
        return bool(self.numbers.items() & group.numbers.items())


@dataclass(frozen=True)
class Ledger:
    """All lives that are kept; numbers of folders hold for one boot only."""

    boot: str
    running: Mapping[str, Life]
    ended: Sequence[Life] = ()
    problems: Sequence[str] = ()

    def at(self, now_ms: int, boot: str) -> "Ledger":
        """The same for another boot: what ran before has ended."""
        if boot == self.boot:
            return self
        over = [replace(life, ended=now_ms) for life in self.running.values()]
        return Ledger(boot, {}, [*self.ended, *over])


def to_document(ledger: Ledger) -> dict[str, Any]:
    """The list as JSON."""
    return {
        "format": _FORMAT,
        "boot": ledger.boot,
        "problems": list(ledger.problems),
        "groups": [_row(one) for one in (*ledger.ended, *ledger.running.values())],
    }


def load_ledger(path: Path) -> Ledger | None:
    """The list that was kept, None where there is none that can be read."""
    try:
        return _read(read_json(path))
    except FileNotFoundError:
        pass
    except (OSError, ValueError, TypeError) as error:
        _LOG.warning("%s is no list of cgroups (%s): begun anew", path, error)
    return None


def _row(life: Life) -> dict[str, Any]:
    return {**asdict(life), "numbers": dict(life.numbers)}


def _read(document: object) -> Ledger:
    """Raises ValueError and TypeError for what to_document did not write."""
    match document:
        case {
            "format": str(form),
            "boot": str(boot),
            "groups": [*rows],
            "problems": [*problems],
        } if form == _FORMAT:
            return _made(boot, map(_life, rows), [str(one) for one in problems])
    raise ValueError("not of its form")


def _made(boot: str, lives: Iterable[Life], problems: Sequence[str]) -> Ledger:
    every = list(lives)
    running = {life.path: life for life in every if life.ended is None}
    ended = [life for life in every if life.ended is not None]
    return Ledger(boot, running, ended, problems)


def _life(row: object) -> Life:
    match row:
        case {
            "path": str(path),
            "began": int(began),
            "versions": [*versions],
            "numbers": dict(numbers),
            "allowed": dict(allowed),
            "metrics": [*metrics],
            "ended": int() | None as ended,
        }:
            return Life(
                path,
                began,
                tuple(map(int, versions)),
                {str(mount): int(number) for mount, number in numbers.items()},
                _allowed(allowed),
                tuple(map(str, metrics)),
                ended,
            )
    raise ValueError("a group is not of its form")


def _allowed(row: Mapping[Any, Any]) -> Allowed:
    cpus = row["cpus"]
    return Allowed(
        tuple(map(str, row["controllers"])),
        None if cpus is None else tuple(map(int, cpus)),
        row["memory"],
        row["cpu_share"],
        row["tasks"],
    )
