"""The exceptions of sampling; every message is one line that names thing and fix.

BridgeError               its other subclasses are in sampler_bridge.errors
├── MonitorError          the monitor set cannot be read
├── PerfeventError        a request cannot be counted, at all or on this host
├── PlanError             the plan cannot be read
└── SourceDownError       a source does not answer now; another try may succeed
"""

from core.errors import SuperTwinError


class BridgeError(SuperTwinError):
    """Root of all errors of sampling."""


class MonitorError(BridgeError):
    """The monitor set is invalid."""


class PerfeventError(BridgeError):
    """A host's PMUs cannot count what is asked for."""


class PlanError(BridgeError):
    """The plan cannot be read."""


class SourceDownError(BridgeError):
    """A source does not answer now."""
