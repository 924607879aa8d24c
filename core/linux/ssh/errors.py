"""The exception tree of ssh; every message names the thing and the cure.

RemoteLoginError
├── AddressError        what is no ssh:// address of a host
├── SocketNameError     what ssh would not take for the name of a socket
├── SshMissingError     no ssh is installed here
└── SshNotStartedError  this machine cannot start one more process or thread now
"""


class RemoteLoginError(Exception):
    """Anything that keeps us from starting a login."""


class AddressError(RemoteLoginError):
    """What is no ssh:// address of a host."""


class SocketNameError(RemoteLoginError):
    """What ssh would not take for the name of a socket over there."""


class SshMissingError(RemoteLoginError):
    """No ssh is installed on this machine."""


class SshNotStartedError(RemoteLoginError):
    """There is no room for one more process on this machine."""

    def __init__(self, cause: Exception) -> None:
        why = getattr(cause, "strerror", None) or str(cause)
        super().__init__(
            f"ssh cannot be started ({why}): free memory, processes or open files here"
        )
