"""Which missing points degrade the service, and for how long."""

import pytest

from sampler_bridge.sampling.restarting import fault
from sampler_bridge.sampling.subset import ABSENT
from sampling.account.account import LATE, LOG_FULL, REFUSED, SLOW_SOURCE, UNREADABLE
from sampling.account.losses import Losses, losing_line
from sampling.account.reasons import GapCause, GapReason
from sampling.sources.pcp_layout import NAMELESS
from sampling.sources.pcp_texts import TOO_MANY
from sampling.sources.source import NO_VALUE, UNKNOWN_METRIC

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


LOSSES = [
    *(LATE, SLOW_SOURCE, LOG_FULL, REFUSED, UNREADABLE, TOO_MANY, NAMELESS),
    GapCause(GapReason.DOWN, "PMCD at unix:///x does not answer: is it running?"),
    GapCause(GapReason.AGENT, "No PMCD agent for domain of request"),
    GapCause(GapReason.LOG_FAILED, "the log cannot be written (No space left)"),
    fault(IndexError("too high")),
    # The error has another text than the source gives.
    fault(PermissionError(13, "Permission denied")),
    GapCause(GapReason.OTHER, "Impossible value or scale conversion"),
]
NOT_LOST = [
    *(NO_VALUE, ABSENT, UNKNOWN_METRIC),
    GapCause(GapReason.NOT_STORED, "events are not stored"),
    GapCause(GapReason.DENIED, "Permission denied"),
    GapCause(GapReason.UNSUPPORTED, "Metric not supported"),
    GapCause(GapReason.DOWN, "the source was not reached yet", is_start=True),
]


@pytest.mark.parametrize("cause", LOSSES)
def test_each_loss_in_transit_counts(cause: GapCause) -> None:
    losses = Losses()
    losses.add(1, cause)
    assert losses.figures()["points"] == 1


@pytest.mark.parametrize("cause", NOT_LOST)
def test_point_without_a_value_is_not_lost(cause: GapCause) -> None:
    losses = Losses()
    losses.add(1, cause)
    losses.add(0, LATE)
    assert losses.figures() == NONE


def test_every_reason_is_a_loss_or_not() -> None:
    lost, not_lost = ({cause.reason for cause in of} for of in (LOSSES, NOT_LOST))
    assert lost | not_lost == {*GapReason}
    assert lost & not_lost == {GapReason.DOWN}
