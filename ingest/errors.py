"""The exception tree of ingest; every message is one line: the thing and the cure.

IngestError
├── HostNameError               a name that no host can be registered under
├── DocumentError               a file that holds no facts of a probe
├── BundleError                 a copy of a machine that is cut short or hostile
├── RemoteError                 a host that let nobody in, or gave no copy of itself
│   └── BrokenOffError          the connection to it ended half-way
├── NotConformingError          a description that the shapes refuse
├── OtherMachineError           another machine is known by that name
├── PmuError                    a PMU model that libpfm4 does not know
├── RoleError                   a role or formula that cannot be read
├── PlanRequestError            what no host can be sampled for as it is asked
├── ProcessNameError            a name or expression that stands for no process
├── NoSuchStateError            a host was never in the state that is asked for
└── SourceError                 a source gave no facts
    ├── SourceMissingError      its tool, library or file is not on this machine
    ├── SourceRefusedError      it is there, but failed, hung or was not permitted
    └── MalformedSourceError    it answered with something that cannot be read
        └── TopologyError       hwloc's XML is cut short, hostile or inconsistent
"""


class IngestError(Exception):
    """Anything that goes wrong between a machine and its published graph."""


class HostNameError(IngestError):
    """A name that no host can be registered under."""


class SourceError(IngestError):
    """A source gave no facts."""


class SourceMissingError(SourceError):
    """The tool, library or file that a source reads is not on this machine."""


class SourceRefusedError(SourceError):
    """A source is there, but failed, took too long or was not permitted."""


class MalformedSourceError(SourceError):
    """A source answered with something that cannot be read."""


class TopologyError(MalformedSourceError):
    """hwloc's XML is cut short, hostile or inconsistent."""


class DocumentError(IngestError):
    """A file that holds no facts of a probe."""


class BundleError(IngestError):
    """A copy of a machine that is cut short, damaged or hostile."""


class RemoteError(IngestError):
    """A remote host that let nobody in, or gave no copy of itself."""


class BrokenOffError(RemoteError):
    """The connection to a remote host ended half-way."""


class NotConformingError(IngestError):
    """A description that the shapes refuse; `lines` is the report."""

    def __init__(self, host: str, lines: list[str]) -> None:
        self.lines = lines
        faults = sum(not line.startswith("warning:") for line in lines)
        noun = "fault" if faults == 1 else "faults"
        super().__init__(
            f"the description of {host} has {faults} {noun}; the old twin stays"
        )


class OtherMachineError(IngestError):
    """Another machine is known by that name, or may be."""

    def __init__(self, host: str, known: str, new: str, agree: str = "") -> None:
        alike = f" (though its {agree} is the same)" if agree else ""
        super().__init__(
            f"{host} is known as a machine of {known}, this one has {new}{alike}: give "
            "it another name, or replace it with --confirm (of `supertwin ingest` or "
            "`supertwin add`)"
        )


class PlanRequestError(IngestError):
    """A sampling plan that cannot be as it is asked for."""


class ProcessNameError(IngestError):
    """A name or expression that can stand for no process."""


class NoSuchStateError(IngestError):
    """A host was never in the state that is asked for."""


class RoleError(IngestError):
    """A role or formula that cannot be read."""


class PmuError(IngestError):
    """A PMU model that libpfm4 does not know."""
