"""The exceptions of the bridge; every message is one line that names thing and fix.

BridgeError           in sampling.errors
├── NotLoggedError    a log takes no record: its disk is full or bad, or it is closed
├── SourceDownError
│   └── KernelRefusedError  processes cannot be read from the kernel
├── StateError        state folder, sockets or threads cannot be used
└── StoreDownError    the store does not take points now; another try may succeed
"""

from sampling.errors import BridgeError, SourceDownError


class KernelRefusedError(SourceDownError):
    """Processes cannot be read from the kernel here."""

    code = "kernel-refused"


class NotLoggedError(BridgeError):
    """A record was not written to the log of a host.

    ``dropped`` waiting points were lost in the attempt.
    """

    code = "log-not-written"

    def __init__(self, why: str, dropped: int = 0) -> None:
        super().__init__(f"the log cannot be written ({why})")
        self.dropped = dropped


class StateError(BridgeError):
    """The state folder, or another resource of this machine for a host, is unusable."""

    code = "state-unusable"


class StoreDownError(BridgeError):
    """The store does not take points now."""

    code = "store-down"
