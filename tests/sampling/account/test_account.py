"""The account closes, whatever happens to a point."""

from sampling.account.account import LATE, LOG_FULL, Account
from sampling.account.reasons import GapCause, GapReason
from sampling.sources.source import Gap

DENIED = GapCause(GapReason.DENIED, "Permission denied")
FORBIDDEN = GapCause(GapReason.DENIED, "Operation not permitted")
AGENT = GapCause(GapReason.AGENT, "No PMCD agent for domain of request")


def test_every_point_is_accounted_for() -> None:
    account = Account(queued=5)
    account.ticked(1000, 10, [Gap(DENIED, 2), Gap(AGENT, 1)])
    account.ticked(2000, 10, [Gap(DENIED, 2), Gap(FORBIDDEN, 1)])
    account.skipped(13, LATE)
    account.lost(4, LOG_FULL)
    account.sent(11, 3)
    figures = account.figures()
    assert figures["expected"] == 5 + 13 + 13 + 13
    assert figures["missing"] == {
        "agent down": {AGENT.detail: 1},
        "no permission": {DENIED.detail: 4, FORBIDDEN.detail: 1},
        "late": {LATE.detail: 13},
        "log full": {LOG_FULL.detail: 4},
    }
    assert {reason: n for reason, n in figures["reasons"].items() if n} == {
        reason: sum(details.values()) for reason, details in figures["missing"].items()
    }
    queued = figures["expected"] - figures["written"] - sum(figures["reasons"].values())
    assert queued == 5 + 20 - 4 - 11
    assert (figures["late"], figures["dropped"], figures["resent"]) == (13, 4, 3)
    assert figures["last_tick_ms"] == 2000
