"""The exception tree of ingest; every message is one line with the thing and the fix.

IngestError
├── HostNameError               not a valid host name
├── ProbeDocumentError               a file without valid probe facts
├── BundleError                 a copy of a machine that is truncated or hostile
├── RemoteError                 a host refused the login, or sent no copy
│   └── ConnectionLostError          the connection to it broke
├── NotConformingError          a description that violates the shapes
├── OtherMachineError           the name belongs to another machine
├── PmuError                    a PMU model that libpfm4 does not know
├── RoleError                   a role or formula that cannot be read
├── PlanRequestError            a sampling plan that no host can carry out
├── ProcessNameError            a name or expression that cannot match a process
├── NoSuchStateError            a host was never in the requested state
└── ProbeSourceError                 a source gave no facts
    ├── SourceMissingError      its tool, library or file is not on this machine
    ├── SourceRefusedError      it exists, but failed, hung or was not permitted
    └── MalformedSourceError    its answer cannot be read
        └── TopologyError       hwloc's XML is truncated, hostile or inconsistent
"""

from core.errors import FAILED, USER_CAN_FIX, SuperTwinError


class IngestError(SuperTwinError):
    """Any failure between a machine and its published graph."""

    exit_code = USER_CAN_FIX


class HostNameError(IngestError):
    """Not a valid host name."""


class ProbeSourceError(IngestError):
    """A source gave no facts."""


class SourceMissingError(ProbeSourceError):
    """The tool, library or file that a source reads is not on this machine."""


class SourceRefusedError(ProbeSourceError):
    """A source exists, but failed, took too long or was not permitted."""


class MalformedSourceError(ProbeSourceError):
    """A source's answer cannot be read."""


class TopologyError(MalformedSourceError):
    """hwloc's XML is truncated, hostile or inconsistent."""


class ProbeDocumentError(IngestError):
    """A file without valid probe facts."""


class BundleError(IngestError):
    """A copy of a machine that is truncated, damaged or hostile."""


class RemoteError(IngestError):
    """A remote host refused the login, or sent no copy of itself."""


class ConnectionLostError(RemoteError):
    """The connection to a remote host broke."""

    exit_code = FAILED


class NotConformingError(IngestError):
    """A description that violates the shapes; `lines` is the report."""

    def __init__(self, host: str, lines: list[str]) -> None:
        self.lines = lines
        faults = sum(not line.startswith("warning:") for line in lines)
        noun = "fault" if faults == 1 else "faults"
        super().__init__(
            f"the description of {host} has {faults} {noun}; the old twin stays"
        )


class OtherMachineError(IngestError):
    """The name belongs, or may belong, to another machine."""

    def __init__(self, host: str, known: str, new: str, agree: str = "") -> None:
        alike = f" (though its {agree} is the same)" if agree else ""
        super().__init__(
            f"{host} is known as a machine of {known}, this one has {new}{alike}: give "
            "it another name, or replace it with --confirm (of `supertwin ingest` or "
            "`supertwin add`)"
        )


class PlanRequestError(IngestError):
    """A sampling plan that cannot be carried out as requested."""

    status = 400


class ProcessNameError(IngestError):
    """A name or expression that cannot match a process."""


class NoSuchStateError(IngestError):
    """A host was never in the requested state."""


class RoleError(IngestError):
    """A role or formula that cannot be read."""


class PmuError(IngestError):
    """A PMU model that libpfm4 does not know."""
