"""The exception tree of dtdl; every message is one line with the thing and the cure.

DtdlError
├── NotExportableError  a graph that cannot be written as DTDL
└── DocumentError       a file that is not a complete export of ours
    └── DtmiError       a DTMI that we did not write
"""


class DtdlError(Exception):
    """Any failure between a graph and its DTDL."""


class NotExportableError(DtdlError):
    """A graph that cannot be written as DTDL."""


class DocumentError(DtdlError):
    """A file that is not a complete export of ours."""


class DtmiError(DocumentError):
    """A DTMI that we did not write."""
