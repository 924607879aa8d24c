"""The exception tree of the bridge; every message is one line, thing and cure.

BridgeError           in sampling.errors
├── NotLoggedError    a log takes no record: its disk does not, or it was closed
├── StateError        state folder, sockets or threads cannot be used
└── StoreDownError    the store does not take points now; another try may succeed
"""

from sampling.errors import BridgeError


class NotLoggedError(BridgeError):
    """A record is not written; ``dropped`` waiting points had gone for it."""

    def __init__(self, why: str, dropped: int = 0) -> None:
        super().__init__(f"the log cannot be written ({why})")
        self.dropped = dropped


class StateError(BridgeError):
    """The state folder, or what else a host needs of this machine, cannot be used."""


class StoreDownError(BridgeError):
    """The store does not take points now."""
