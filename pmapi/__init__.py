"""PCP's client library through ctypes: what a probe and the bridge ask a PMCD for.

The distribution's Python binding decodes each value on its own and is tied to the
distribution's Python; the library itself is neither. See PMAPI(3).
"""

from pmapi.context import Context, Metric, Result, pmid_array
from pmapi.library import (
    LIBRARIES,
    NO_INDOM,
    NO_METRIC,
    TYPE_32,
    TYPE_64,
    TYPE_DOUBLE,
    TYPE_FLOAT,
    TYPE_STRING,
    TYPE_U32,
    TYPE_U64,
    UNKNOWN_NAME,
    LibraryMissingError,
    PmapiError,
    PmDesc,
    PmError,
    error_text,
    libpcp,
    units_text,
)

__all__ = [
    "LIBRARIES",
    "NO_INDOM",
    "NO_METRIC",
    "TYPE_32",
    "TYPE_64",
    "TYPE_DOUBLE",
    "TYPE_FLOAT",
    "TYPE_STRING",
    "TYPE_U32",
    "TYPE_U64",
    "UNKNOWN_NAME",
    "Context",
    "LibraryMissingError",
    "Metric",
    "PmDesc",
    "PmError",
    "PmapiError",
    "Result",
    "error_text",
    "libpcp",
    "pmid_array",
    "units_text",
]
