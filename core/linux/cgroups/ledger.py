"""The list of running and ended control groups that the bridge writes.

Other processes read it from the bridge's folder whenever it changes. It also lists
groups that came and went while such a process was not running.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeVar

from core.linux.cgroups.errors import CgroupError
from core.linux.cgroups.groups import Cgroup, CgroupLimits

N = TypeVar("N", int, float)

LEDGER_FILE = "cgroups.json"
_FORMAT = "supertwin-cgroups/1"


@dataclass(frozen=True)
class CgroupLife:
    """One group from its discovery to its end, in Unix ms.

    ``metrics`` are the metrics for which the group has values.
    """

    path: str
    began: int
    versions: tuple[int, ...]
    numbers: Mapping[str, int]
    allowed: CgroupLimits = field(default_factory=CgroupLimits)
    metrics: tuple[str, ...] = ()
    ended: int | None = None

    def is_of(self, group: Cgroup) -> bool:
        """Whether this life is the group's, not that of another at the same path.

        A scan may see some folders of a group before the others exist, and the next
        one those that are not removed yet.
        """
        common = self.numbers.keys() & group.numbers.keys()
        same = self.numbers.items() & group.numbers.items()
        return bool(same) or not common


@dataclass(frozen=True)
class Ledger:
    """All recorded lives; folder numbers are valid for one boot only."""

    boot: str
    running: Mapping[str, CgroupLife]
    ended: Sequence[CgroupLife] = ()
    problems: Sequence[str] = ()

    def at(self, now_ms: int, boot: str) -> "Ledger":
        """Return the ledger for a boot: after a new boot, every group has ended."""
        if boot == self.boot:
            return self
        over = [replace(life, ended=now_ms) for life in self.running.values()]
        return Ledger(boot, {}, [*self.ended, *over])


def to_document(ledger: Ledger) -> dict[str, Any]:
    """Return the ledger as a JSON document.

    Most groups have the same metrics, so each row has the number of its set.
    """
    lives = [*ledger.ended, *ledger.running.values()]
    sets = {metrics: at for at, metrics in enumerate({one.metrics for one in lives})}
    return {
        "format": _FORMAT,
        "boot": ledger.boot,
        "problems": list(ledger.problems),
        "metrics": [*sets],
        "groups": [_row(one, sets[one.metrics]) for one in lives],
    }


def read_ledger(document: object) -> Ledger:
    """Read a ledger that to_document wrote; raises CgroupError for anything else."""
    try:
        return _read(document)
    except (LookupError, TypeError, ValueError) as error:
        raise CgroupError(f"it is not a list of cgroups: {error}") from None


def _row(life: CgroupLife, metrics: int) -> dict[str, Any]:
    return {**asdict(life), "numbers": dict(life.numbers), "metrics": metrics}


def _read(document: object) -> Ledger:
    match document:
        case {
            "format": str(form),
            "boot": str(boot),
            "groups": [*rows],
            "problems": [*problems],
            **more,
        } if form == _FORMAT:
            sets = _sets(more.get("metrics", []))
            lives = (_life(row, sets) for row in rows)
            return _made(boot, lives, [str(one) for one in problems])
    raise ValueError("unexpected format")


def _made(boot: str, lives: Iterable[CgroupLife], problems: Sequence[str]) -> Ledger:
    every = list(lives)
    running = {life.path: life for life in every if life.ended is None}
    ended = [life for life in every if life.ended is not None]
    return Ledger(boot, running, ended, problems)


def _sets(rows: Any) -> list[tuple[str, ...]]:
    return [tuple(map(str, row)) for row in rows]


def _life(row: object, sets: Sequence[tuple[str, ...]]) -> CgroupLife:
    match row:
        case {
            "path": str(path),
            "began": int(began),
            "versions": [*versions],
            "numbers": dict(numbers),
            "allowed": dict(allowed),
            "metrics": int() | [*_] as metrics,
            "ended": int() | None as ended,
        }:
            return CgroupLife(
                path,
                began,
                tuple(map(int, versions)),
                {str(mount): int(number) for mount, number in numbers.items()},
                _allowed(allowed),
                # Earlier releases wrote the names into each row.
                sets[metrics] if isinstance(metrics, int) else tuple(metrics),
                ended,
            )
    raise ValueError("a group has an unexpected format")


def _allowed(row: Mapping[Any, Any]) -> CgroupLimits:
    cpus = row["cpus"]
    return CgroupLimits(
        tuple(map(str, row["controllers"])),
        None if cpus is None else tuple(map(int, cpus)),
        _number(row["memory"], int),
        _number(row["cpu_share"], float),
        _number(row["tasks"], int),
    )


def _number(value: object, kind: Callable[[Any], N]) -> N | None:
    return None if value is None else kind(value)
