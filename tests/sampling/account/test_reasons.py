"""The reason words: few, stable, and correct for what the bridge reports."""

import pytest

from core.linux import pmapi
from sampler_bridge.sampling import restarting
from sampling.account import account, reasons
from sampling.sources import pcp_texts

PCP = {
    -12351: reasons.ABSENT,
    -12389: reasons.ABSENT,
    -12350: reasons.UNSUPPORTED,
    -12357: reasons.UNKNOWN,
    -12358: reasons.UNKNOWN,
    -12366: reasons.AGENT,
    -12386: reasons.AGENT,
    -12387: reasons.DENIED,
    -12411: reasons.AGENT,
    -13394: reasons.AGENT,
    -13: reasons.DENIED,
    -32: reasons.AGENT,
    -104: reasons.AGENT,
    -12360: reasons.ABSENT,
    -61: reasons.ABSENT,
    -12362: reasons.OTHER,
}
OURS = {
    account.LATE: reasons.LATE,
    account.SLOW_SOURCE: reasons.SLOW,
    account.LOG_FULL: reasons.LOG_FULL,
    account.REFUSED: reasons.REFUSED,
    account.UNREADABLE: reasons.LOG_DAMAGED,
    "the source was not reached yet": reasons.DOWN,
    "PMCD at x does not answer (Permission denied): is it running?": reasons.DOWN,
    "the log cannot be written (No space left on device)": reasons.LOG_FAILED,
    "no value at present": reasons.ABSENT,
    "events are not stored": reasons.NOT_STORED,
    pcp_texts.TOO_MANY: reasons.TEXTS,
    "the value is not a number": reasons.NOT_STORED,
    "an instance without a name": reasons.NAMELESS,
    restarting.fault(IndexError("too high")): reasons.BROKE_OFF,
    restarting.fault(PermissionError("Permission denied")): reasons.BROKE_OFF,
    "what nobody foresaw": reasons.OTHER,
}


@pytest.mark.parametrize(("code", "word"), PCP.items())
def test_errors_of_pcp_have_a_word(code: int, word: str) -> None:
    assert reasons.word(pmapi.error_text(code)) == word


@pytest.mark.parametrize(("reason", "word"), OURS.items())
def test_own_reasons_have_a_word(reason: str, word: str) -> None:
    assert reasons.word(reason) == word


def test_reason_words_are_few_and_all_counted() -> None:
    found = reasons.by_word({"no value at present": 2, "Try again. Later": 3, "?": 1})
    assert tuple(found) == reasons.WORDS
    assert len(reasons.WORDS) <= 17
    assert {word: n for word, n in found.items() if n} == {
        reasons.ABSENT: 5,
        reasons.OTHER: 1,
    }
