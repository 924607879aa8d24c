"""The exceptions of sampling; every message is one line that names thing and fix.

BridgeError               its other subclasses are in sampler_bridge.errors
├── MonitorError          the monitor set cannot be read
├── PerfeventError        a request cannot be counted, at all or on this host
├── PlanError             the plan cannot be read
└── SourceDownError       a source does not answer now; another try may succeed
UserError
├── AgentRefusedError     an agent cannot give a metric on this host
├── ExporterError         an exporter cannot be added, or gives nothing
├── NoPmcdError           no PMCD runs where one is needed
└── ScriptRefusedError    a bpftrace script cannot be sampled
"""

from core.errors import USER_CAN_FIX, SuperTwinError, UserError


class BridgeError(SuperTwinError):
    """A part of the bridge broke.

    Also the root of all errors of sampling.
    """

    code = "bridge-broken"


class MonitorError(BridgeError):
    """The monitor set is invalid."""

    code = "bad-monitor-set"


class PerfeventError(BridgeError):
    """A host cannot count the PMU events that are asked for."""

    code = "not-countable"
    exit_code = USER_CAN_FIX
    status = 400


class AgentRefusedError(UserError):
    """An agent of PCP cannot give a metric on this host."""

    code = "agent-refused"


class ExporterError(UserError):
    """An exporter cannot be added, or gives nothing."""

    code = "bad-exporter"


class NoPmcdError(UserError):
    """No PMCD runs where one is needed."""

    code = "no-pmcd"


class ScriptRefusedError(UserError):
    """A bpftrace script cannot be sampled."""

    code = "bad-script"


class PlanError(BridgeError):
    """The plan cannot be read."""

    code = "bad-plan"


class SourceDownError(BridgeError):
    """A source does not answer now.

    ``is_start`` says that it was not reached since the start.
    """

    code = "source-down"

    def __init__(self, text: str, *, is_start: bool = False) -> None:
        super().__init__(text)
        self.is_start = is_start
