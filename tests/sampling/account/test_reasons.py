"""The reasons of gaps: set where they arise, few, and stable."""

import errno

import pytest

from core.linux import pmapi
from core.linux.pmapi import PmStatus
from core.linux.pmapi.binding import binding
from sampler_bridge.errors import NotLoggedError
from sampler_bridge.sampling.restarting import fault
from sampling.account.reasons import WORDS, GapCause, GapReason, by_reason, read_cause
from sampling.sources.pcp_reasons import cause_of

PCP = {
    PmStatus.NO_VALUE: GapReason.ABSENT,
    PmStatus.TRY_AGAIN: GapReason.ABSENT,
    PmStatus.UNKNOWN_INSTANCE: GapReason.ABSENT,
    PmStatus.NOT_SUPPORTED: GapReason.UNSUPPORTED,
    PmStatus.UNKNOWN_NAME: GapReason.UNKNOWN,
    PmStatus.UNKNOWN_METRIC: GapReason.UNKNOWN,
    PmStatus.PROTOCOL: GapReason.AGENT,
    PmStatus.NO_AGENT: GapReason.AGENT,
    PmStatus.AGENT_FENCED: GapReason.AGENT,
    PmStatus.AGENT_NOT_READY: GapReason.AGENT,
    PmStatus.PERMISSION: GapReason.DENIED,
    -errno.EACCES: GapReason.DENIED,
    -errno.EPIPE: GapReason.AGENT,
    -errno.ECONNRESET: GapReason.AGENT,
    -errno.ENODATA: GapReason.ABSENT,
    PmStatus.CONVERSION: GapReason.OTHER,
    -errno.EIO: GapReason.OTHER,
}
IN_PMAPI_H = {
    "APPVERSION": PmStatus.NOT_SUPPORTED,
    "VALUE": PmStatus.NO_VALUE,
    "TIMEOUT": PmStatus.TIMEOUT,
    "NAME": PmStatus.UNKNOWN_NAME,
    "PMID": PmStatus.UNKNOWN_METRIC,
    "INST": PmStatus.UNKNOWN_INSTANCE,
    "CONV": PmStatus.CONVERSION,
    "IPC": PmStatus.PROTOCOL,
    "EOF": PmStatus.CLOSED,
    "NOAGENT": PmStatus.NO_AGENT,
    "PERMISSION": PmStatus.PERMISSION,
    "AGAIN": PmStatus.TRY_AGAIN,
    "NOTCONN": PmStatus.NOT_CONNECTED,
    "PMDAFENCED": PmStatus.AGENT_FENCED,
    "PMDAREADY": PmStatus.AGENT_READY,
    "PMDANOTREADY": PmStatus.AGENT_NOT_READY,
}


@pytest.mark.parametrize(("number", "reason"), PCP.items())
def test_status_of_pcp_has_its_reason_and_its_text(
    number: int, reason: GapReason
) -> None:
    assert cause_of(number) == GapCause(reason, pmapi.error_text(number))


def test_statuses_have_the_numbers_of_pmapi_h() -> None:
    constants = binding().c_api
    found = {name: getattr(constants, f"PM_ERR_{name}") for name in IN_PMAPI_H}
    assert found == IN_PMAPI_H
    assert {*IN_PMAPI_H.values()} == {*PmStatus}


def test_bridge_fault_is_not_a_source_error() -> None:
    cause = fault(PermissionError("Permission denied"))
    assert cause.reason is GapReason.BROKE_OFF
    assert "Permission denied" in cause.detail
    assert "Permission denied" in str(NotLoggedError("Permission denied"))


def test_every_reason_is_counted() -> None:
    twice = {
        GapCause(GapReason.ABSENT, "no value at present"): 2,
        GapCause(GapReason.ABSENT, "Try again. Later"): 3,
        GapCause(GapReason.OTHER, "?"): 1,
    }
    found = by_reason(twice)
    assert tuple(found) == WORDS
    assert len(WORDS) <= 17
    assert {word: n for word, n in found.items() if n} == {"no value": 5, "other": 1}


@pytest.mark.parametrize(
    ("document", "cause"),
    [
        ({"reason": "late", "detail": "x"}, GapCause(GapReason.LATE, "x")),
        # Of bridges of other versions.
        ({"reason": "late"}, GapCause(GapReason.LATE, "late")),
        ({"reason": "of later", "detail": "x"}, GapCause(GapReason.OTHER, "x")),
        (
            {"reason": "the bridge was late"},
            GapCause(GapReason.OTHER, "the bridge was late"),
        ),
        ({"reason": ""}, None),
        ({"reason": 7}, None),
        ({}, None),
        ("late", None),
        (None, None),
    ],
)
def test_cause_in_a_status_file_of_any_version(
    document: object, cause: GapCause | None
) -> None:
    assert read_cause(document) == cause
