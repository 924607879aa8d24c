"""The exception tree of the bridge; every message is one line, thing and cure.

BridgeError
├── MonitorError     the monitor set cannot be read
├── NotLoggedError   a log takes no record: its disk does not, or it was closed
├── PerfeventError   what is asked of PMUs cannot be counted, or not on this host
├── PlanError        the plan cannot be read
├── SourceError      a source cannot be used at all (library missing)
├── SourceDownError       a source does not answer now; another try may succeed
├── StateError       state folder, sockets or threads cannot be used
└── StoreDownError        the store does not take points now; another try may succeed
"""


class BridgeError(Exception):
    """Root of all errors of the bridge."""


class MonitorError(BridgeError):
    """The monitor set is not what it should be."""


class NotLoggedError(BridgeError):
    """A record is not written; ``dropped`` waiting points had gone for it."""

    def __init__(self, why: str, dropped: int = 0) -> None:
        super().__init__(f"the log cannot be written ({why})")
        self.dropped = dropped


class PerfeventError(BridgeError):
    """What is asked of a host's PMUs cannot be counted."""


class PlanError(BridgeError):
    """What to sample cannot be read."""


class SourceError(BridgeError):
    """A source cannot be used on this machine."""


class SourceDownError(BridgeError):
    """A source does not answer now."""


class StateError(BridgeError):
    """The state folder, or what else a host needs of this machine, cannot be used."""


class StoreDownError(BridgeError):
    """The store does not take points now."""
