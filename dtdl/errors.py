"""The exception tree of dtdl; every message is one line: the thing and the cure.

DtdlError
├── NotExportableError  a graph that cannot be written as DTDL
└── DocumentError       a file that is no export of ours, or not a whole one
    └── DtmiError       a DTMI that we did not write
"""


class DtdlError(Exception):
    """Anything that goes wrong between a graph and its DTDL."""


class NotExportableError(DtdlError):
    """A graph that cannot be written as DTDL."""


class DocumentError(DtdlError):
    """A file that is no export of ours, or not a whole one."""


class DtmiError(DocumentError):
    """A DTMI that we did not write."""
