"""The exception tree of ingest; every message is one line with the thing and the fix.

IngestError
├── HostNameError               not a valid host name
├── ProbeDocumentError          a file without valid probe facts
├── BundleError                 a copy of a machine that is truncated or hostile
├── RemoteError                 a host refused the login, or sent no copy
│   ├── ConnectionLostError     the connection to it broke
│   └── RemoteSetupError        it lacks a program or setting
├── NotConformingError          a description that violates the shapes
├── OtherMachineError           the name belongs to another machine
├── PmuError                    a PMU model that libpfm4 does not know
├── RoleError                   a role or formula that cannot be read
├── NoAddressError              no ssh address of a host is known
├── AliasExistsError            another host has this name or alias
├── PlanRequestError            a sampling plan that no host can carry out
│   ├── UnknownMetricError      the host has no metric of this name
│   ├── UnknownInstanceError    the metric has no instance of this name
│   ├── PlanExistsError         the host has a plan of this name
│   └── NoSuchPlanError         the host has no plan of this name
├── ProcessNameError            a name or expression that cannot match a process
├── UnknownProcessError         no process has this number or name
├── NoSuchStateError            a host was never in the requested state
└── ProbeSourceError            a source gave no facts
    ├── SourceMissingError      its tool, library or file is not on this machine
    ├── SourceRefusedError      it exists, but failed or hung
    │   └── SourceDeniedError   it may not be read
    └── MalformedSourceError    its answer cannot be read
        └── TopologyError       hwloc's XML is truncated, hostile or inconsistent
"""

from core.errors import FAILED, USER_CAN_FIX, SuperTwinError


class IngestError(SuperTwinError):
    """Any failure between a machine and its published graph."""

    exit_code = USER_CAN_FIX


class HostNameError(IngestError):
    """Not a valid host name."""

    code = "bad-host-name"
    status = 400


class ProbeSourceError(IngestError):
    """A source gave no facts."""


class SourceMissingError(ProbeSourceError):
    """The tool, library or file that a source reads is not on this machine."""

    code = "source-missing"


class SourceRefusedError(ProbeSourceError):
    """A source exists, but failed or took too long.

    ``problem`` is the text without the fix; ``printed`` is what its program printed.
    """

    code = "source-failed"

    def __init__(self, problem: str, fix: str = "", printed: str = "") -> None:
        super().__init__(f"{problem}: {fix}" if fix else problem)
        self.problem, self.printed = problem, printed


class SourceDeniedError(SourceRefusedError):
    """A source exists, but may not be read."""

    code = "source-denied"


class MalformedSourceError(ProbeSourceError):
    """A source's answer cannot be read."""

    code = "source-malformed"


class TopologyError(MalformedSourceError):
    """hwloc's XML is truncated, hostile or inconsistent."""

    code = "bad-topology"


class ProbeDocumentError(IngestError):
    """A file without valid probe facts."""

    code = "bad-probe-file"


class BundleError(IngestError):
    """A copy of a machine that is truncated, damaged or hostile."""

    code = "bad-bundle"


class RemoteError(IngestError):
    """A remote host refused the login, or sent no copy of its files."""

    code = "remote-failed"


class ConnectionLostError(RemoteError):
    """The connection to a remote host broke."""

    code = "connection-lost"
    exit_code = FAILED


class RemoteSetupError(RemoteError):
    """A remote host lacks a program or setting that SuperTwin needs there."""

    code = "remote-setup"
    status = 400


class NotConformingError(IngestError):
    """A description that violates the shapes.

    `lines` is the report.
    """

    code = "not-conforming"

    def __init__(self, host: str, lines: list[str]) -> None:
        self.lines = lines
        faults = sum(not line.startswith("warning:") for line in lines)
        noun = "fault" if faults == 1 else "faults"
        super().__init__(
            f"the description of {host} has {faults} {noun} and was not stored: "
            "correct the values that the report names"
        )


class OtherMachineError(IngestError):
    """The name belongs, or may belong, to another machine."""

    code = "other-machine"
    status = 409

    def __init__(self, host: str, known: str, new: str, agree: str = "") -> None:
        alike = f" (and the same {agree})" if agree else ""
        super().__init__(
            f"the twin {host} belongs to a machine with {known}, but this one has "
            f"{new}{alike}: choose another name (--host; SUPERTWIN_HOST for the local "
            "machine), or replace the twin with --confirm"
        )


class PlanRequestError(IngestError):
    """A sampling plan that cannot be carried out as requested."""

    code = "plan-refused"
    status = 400


class UnknownMetricError(PlanRequestError):
    """The host has no metric of this name."""

    code = "unknown-metric"


class UnknownInstanceError(PlanRequestError):
    """The metric has no instance of this name."""

    code = "unknown-instance"


class PlanExistsError(PlanRequestError):
    """The host has a plan of this name."""

    code = "plan-exists"


class NoSuchPlanError(PlanRequestError):
    """The host has no plan of this name."""

    code = "no-such-plan"


class NoAddressError(IngestError):
    """No ssh address of the host is known."""

    code = "no-address"
    status = 400


class AliasExistsError(IngestError):
    """Another host has this name or alias."""

    code = "alias-exists"
    status = 400


class ProcessNameError(IngestError):
    """A name or expression that cannot match a process."""

    code = "bad-process-name"


class UnknownProcessError(IngestError):
    """No process has this number or name."""

    code = "unknown-process"
    status = 404


class NoSuchStateError(IngestError):
    """A host was never in the requested state."""

    code = "no-such-state"
    status = 404


class RoleError(IngestError):
    """A role or formula that cannot be read."""

    code = "bad-role"


class PmuError(IngestError):
    """A PMU model that libpfm4 does not know."""

    code = "unknown-pmu"
