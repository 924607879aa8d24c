"""The negative statuses of PMAPI that this program distinguishes (pmapi.h)."""

from enum import IntEnum


class PmStatus(IntEnum):
    """A status of PCP itself; -errno stands for an error of the system."""

    NOT_SUPPORTED = -12350  # PM_ERR_APPVERSION
    NO_VALUE = -12351  # PM_ERR_VALUE
    TIMEOUT = -12353  # PM_ERR_TIMEOUT
    UNKNOWN_NAME = -12357  # PM_ERR_NAME
    UNKNOWN_METRIC = -12358  # PM_ERR_PMID
    UNKNOWN_INSTANCE = -12360  # PM_ERR_INST
    CONVERSION = -12362  # PM_ERR_CONV
    PROTOCOL = -12366  # PM_ERR_IPC
    CLOSED = -12368  # PM_ERR_EOF
    NO_AGENT = -12386  # PM_ERR_NOAGENT
    PERMISSION = -12387  # PM_ERR_PERMISSION
    TRY_AGAIN = -12389  # PM_ERR_AGAIN
    NOT_CONNECTED = -12391  # PM_ERR_NOTCONN
    AGENT_FENCED = -12411  # PM_ERR_PMDAFENCED
    AGENT_READY = -13393  # PM_ERR_PMDAREADY
    AGENT_NOT_READY = -13394  # PM_ERR_PMDANOTREADY
