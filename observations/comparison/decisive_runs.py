"""How many runs would decide an undecided comparison."""

import numpy as np
from scipy import special

# The confidence level of the intervals; the probability that the runs suffice.
LEVEL, POWER = 0.95, 0.8
_MOST, _FAR = 10_000, 1000.0


def critical_value(freedom: float) -> float:
    """Return half the width of Student's interval, in standard errors."""
    return float(special.stdtrit(freedom, (1 + LEVEL) / 2))


def decisive_runs(
    was: float, now: float, variance: float, tolerance: float
) -> tuple[int | None, str]:
    """Return the runs that each group needs for a verdict, or None with the reason.

    Assumes that the true means are the observed ones and that the values of both groups
    have ``variance`` (above 0). A verdict is then reached with probability POWER.
    """
    room = tolerance * abs(was)
    change = abs(now - was)
    gaps = (change - room, np.inf) if change > room else (room - change, room + change)
    if gaps[0] <= 0:
        return None, "the observed change is exactly the tolerance"
    # The tolerance is a fraction of the reference's mean, which also varies.
    spread = float(np.sqrt(variance * (1 + (1 + tolerance) ** 2)))
    if _power(_MOST, gaps, spread) < POWER:
        return None, f"more than {_MOST} runs in each group would be needed"
    few, enough = 1, _MOST
    while enough - few > 1:
        middle = (few + enough) // 2
        is_enough = _power(middle, gaps, spread) >= POWER
        few, enough = (few, middle) if is_enough else (middle, enough)
    return enough, ""


def _power(runs: int, gaps: tuple[float, float], spread: float) -> float:
    """Return the probability of passing both bounds, ``gaps`` away from the change."""
    freedom = 2 * runs - 2
    critical = critical_value(freedom)
    # scipy cannot evaluate an infinite distance.
    distances = [min(gap * np.sqrt(runs) / spread, _FAR) for gap in gaps]
    return float(1 - np.sum(special.nctdtr(freedom, distances, critical)))
