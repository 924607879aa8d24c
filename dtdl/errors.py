"""The exception tree of dtdl; every message is one line with the thing and the fix.

DtdlError
├── NotExportableError      a graph that cannot be written as DTDL
└── DtdlDocumentError       a file that is not a complete export of ours
    └── DtmiError           a DTMI that we did not write
"""

from core.errors import USER_CAN_FIX, SuperTwinError

# The fix for any fault of a document.
FIX = "export it again with `supertwin export dtdl --version 2`"


class DtdlError(SuperTwinError):
    """Any failure between a graph and its DTDL."""

    exit_code = USER_CAN_FIX


class NotExportableError(DtdlError):
    """A graph that cannot be written as DTDL."""

    code = "not-exportable"


class DtdlDocumentError(DtdlError):
    """A file that is not a complete export of ours."""

    code = "bad-dtdl"


class DtmiError(DtdlDocumentError):
    """A DTMI that we did not write."""

    code = "bad-dtmi"
