"""What can go wrong with sampling; every message is one line, thing and cure.

BridgeError               its other subclasses are in sampler_bridge.errors
├── MonitorError          the monitor set cannot be read
├── PerfeventError        what is asked of PMUs cannot be counted, or not on this host
├── PlanError             the plan cannot be read
├── SourceError           a source cannot be used at all (library missing)
└── SourceDownError       a source does not answer now; another try may succeed
"""


class BridgeError(Exception):
    """Root of all errors of sampling."""


class MonitorError(BridgeError):
    """The monitor set is not what it should be."""


class PerfeventError(BridgeError):
    """What is asked of a host's PMUs cannot be counted."""


class PlanError(BridgeError):
    """What to sample cannot be read."""


class SourceError(BridgeError):
    """A source cannot be used on this machine."""


class SourceDownError(BridgeError):
    """A source does not answer now."""
