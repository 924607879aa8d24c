"""Which missing points degrade the service, and for how long."""

import pytest

from sampler_bridge.sampling.restarting import fault
from sampling.account.account import LATE, LOG_FULL, REFUSED, SLOW_SOURCE, UNREADABLE
from sampling.account.losses import Losses, losing_line
from sampling.sources.pcp_texts import TOO_MANY

NONE = {"seconds": 10, "points": 0, "reasons": {}}


class Clock:
    seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def test_lost_points_count_for_ten_seconds() -> None:
    clock = Clock()
    losses = Losses(clock)
    losses.add(3, LATE)
    losses.add(4, LATE)
    clock.seconds += 6
    losses.add(1, LOG_FULL)
    found = losses.figures()
    assert found["reasons"] == {"late": 7, "log full": 1}
    line = "points of n1 are lost: 8 in the last 10 s (late 7, log full 1)"
    assert losing_line("n1", found) == line
    clock.seconds += 6
    assert losses.figures()["reasons"] == {"log full": 1}
    clock.seconds += 6
    assert losses.figures() == NONE


@pytest.mark.parametrize(
    "reason",
    [
        *(LATE, SLOW_SOURCE, LOG_FULL, REFUSED, UNREADABLE),
        "PMCD at unix:///x does not answer: is it running?",
        "No PMCD agent for domain of request",
        "the log cannot be written (No space left on device)",
        TOO_MANY,
        "an instance without a name",
        fault(IndexError("too high")),
        # The error has another text than the source gives.
        fault(PermissionError(13, "Permission denied")),
        "Impossible value or scale conversion",
        "what nobody foresaw",
    ],
)
def test_each_loss_in_transit_counts(reason: str) -> None:
    losses = Losses()
    losses.add(1, reason)
    assert losses.figures()["points"] == 1


@pytest.mark.parametrize(
    "reason",
    [
        "no value at present",
        "no such instance at present",
        "Unknown metric name",
        "events are not stored",
        "Permission denied",
        "the value is not a number",
        "Metric not supported by this version of monitored application",
        "Unknown or illegal instance identifier",
        "No data available",
        "the source was not reached yet",
    ],
)
def test_point_without_a_value_is_not_lost(reason: str) -> None:
    losses = Losses()
    losses.add(1, reason)
    losses.add(0, LATE)
    assert losses.figures() == NONE
