"""Access to PMCD through PCP's Python binding, for the probe and the bridge.

The binding is Debian's python3-pcp (``pcp.pmapi``). This folder adds instance names in
UTF-8, stops requests after a timeout, and limits file descriptors.
"""

from core.linux.pmapi.binding import (
    NO_INDOM,
    NO_METRIC,
    TYPE_32,
    TYPE_64,
    TYPE_DOUBLE,
    TYPE_FLOAT,
    TYPE_STRING,
    TYPE_U32,
    TYPE_U64,
    BindingMissingError,
    PmapiError,
    PmError,
    error_text,
    read_settings,
)
from core.linux.pmapi.context import Context, MetricDescriptor, Result, pmid_array
from core.linux.pmapi.status import PmStatus

__all__ = [
    "NO_INDOM",
    "NO_METRIC",
    "TYPE_32",
    "TYPE_64",
    "TYPE_DOUBLE",
    "TYPE_FLOAT",
    "TYPE_STRING",
    "TYPE_U32",
    "TYPE_U64",
    "BindingMissingError",
    "Context",
    "MetricDescriptor",
    "PmError",
    "PmStatus",
    "PmapiError",
    "Result",
    "error_text",
    "pmid_array",
    "read_settings",
]
