"""The account closes, whatever happens to a point."""

from sampling.account.account import LATE, LOG_FULL, Account
from sampling.sources.source import Gap


def test_every_point_is_accounted_for() -> None:
    account = Account(queued=5)
    account.ticked(1000, 10, [Gap("no permission", 2), Gap("agent down", 1)])
    account.ticked(2000, 10, [Gap("no permission", 2)])
    account.skipped(13, LATE)
    account.lost(4, LOG_FULL)
    account.sent(11, 3)
    figures = account.figures()
    assert figures["expected"] == 5 + 13 + 12 + 13
    assert figures["missing"] == {
        "agent down": 1,
        "no permission": 4,
        LATE: 13,
        LOG_FULL: 4,
    }
    queued = figures["expected"] - figures["written"] - sum(figures["missing"].values())
    assert queued == 5 + 20 - 4 - 11
    assert (figures["late"], figures["dropped"], figures["resent"]) == (13, 4, 3)
    assert figures["last_tick_ms"] == 2000
