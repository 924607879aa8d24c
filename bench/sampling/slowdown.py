"""How much longer applications take in a cell than without sampling."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from bench.sampling.overhead import AGAIN, NOTHING, Run, Stretch
from bench.sampling.stats import Estimate, changes, typical


def pairs(stretches: Iterable[Stretch], cell: str) -> Iterator[tuple[Run, Run]]:
    """A cell's runs, each with the run without sampling of the same stretch."""
    for stretch in stretches:
        with_it, without = stretch.run(cell), stretch.run(NOTHING)
        if with_it and without:
            yield with_it, without


def longer(
    stretches: Iterable[Stretch], cell: str, application: str
) -> Estimate | None:
    """By how many % an application takes longer in a cell."""
    logs = [
        math.log(a.seconds[application] / b.seconds[application])
        for a, b in pairs(stretches, cell)
        if application in a.seconds
    ]
    return changes(logs) if logs else None


def overall(
    stretches: Iterable[Stretch],
    cell: str,
    of: Callable[[Sequence[float]], Estimate] = typical,
) -> Estimate | None:
    """The same over all applications: each run is one value, with equal weights."""
    logs = [
        sum(math.log(a.seconds[one] / b.seconds[one]) for one in a.seconds)
        / len(a.seconds)
        for a, b in pairs(stretches, cell)
    ]
    return changes(logs, of) if logs else None


def labels(stretches: Iterable[Stretch]) -> list[str]:
    """The cells that were measured, by period (longest first), then by number."""
    found = {run.cell for stretch in stretches for run in stretch.runs} - {NOTHING}
    return sorted(found, key=_order)


def _order(label: str) -> tuple[int, int, int, str]:
    if label == AGAIN:
        return 0, 0, 0, label
    number, kind, _, period_ms, *_ = label.replace(",", "").split()
    return 1, -int(period_ms), int(number) + 10**6 * (kind == "series"), label


def noise_of(stretches: Iterable[Stretch], cell: str) -> Counter[int]:
    """Pieces of the noise loop by microseconds, over all runs of a cell."""
    found: Counter[int] = Counter()
    for pieces in noises(stretches, cell):
        found.update(pieces)
    return found


def noises(stretches: Iterable[Stretch], cell: str) -> list[Mapping[int, int]]:
    runs = [run for stretch in stretches if (run := stretch.run(cell))]
    return [run.noise for run in runs if run.noise]
