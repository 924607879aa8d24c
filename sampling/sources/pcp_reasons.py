"""Why PCP gives no value of a metric, from the number of its status."""

import errno

from core.linux import pmapi
from core.linux.pmapi import PmStatus
from sampling.account.reasons import GapCause, GapReason

_REASONS = {
    PmStatus.NOT_SUPPORTED: GapReason.UNSUPPORTED,
    PmStatus.NO_VALUE: GapReason.ABSENT,
    PmStatus.UNKNOWN_NAME: GapReason.UNKNOWN,
    PmStatus.UNKNOWN_METRIC: GapReason.UNKNOWN,
    PmStatus.UNKNOWN_INSTANCE: GapReason.ABSENT,
    PmStatus.PROTOCOL: GapReason.AGENT,
    PmStatus.CLOSED: GapReason.AGENT,
    PmStatus.NO_AGENT: GapReason.AGENT,
    PmStatus.PERMISSION: GapReason.DENIED,
    PmStatus.TRY_AGAIN: GapReason.ABSENT,
    PmStatus.AGENT_FENCED: GapReason.AGENT,
    PmStatus.AGENT_READY: GapReason.AGENT,
    PmStatus.AGENT_NOT_READY: GapReason.AGENT,
    # From agents that pass on why the kernel gave them nothing.
    -errno.ENOENT: GapReason.ABSENT,
    -errno.ESRCH: GapReason.ABSENT,
    -errno.ENXIO: GapReason.ABSENT,
    -errno.ENODEV: GapReason.ABSENT,
    -errno.ENODATA: GapReason.ABSENT,
    -errno.EPERM: GapReason.DENIED,
    -errno.EACCES: GapReason.DENIED,
    -errno.EOPNOTSUPP: GapReason.UNSUPPORTED,
    # PMCD gets these when it asks an agent that has just ended.
    -errno.EPIPE: GapReason.AGENT,
    -errno.ECONNRESET: GapReason.AGENT,
}


def cause_of(status: int) -> GapCause:
    """The cause of a gap, given a negative status; the detail is PCP's own text."""
    reason = _REASONS.get(status, GapReason.OTHER)
    return GapCause(reason, pmapi.error_text(status))
