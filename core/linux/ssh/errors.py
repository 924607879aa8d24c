"""The exception tree of ssh; every message names the thing and the fix.

RemoteLoginError
├── AddressError        not an ssh:// address of a host
├── SocketNameError     a socket name that ssh would not accept
├── SshMissingError     ssh is not installed on this machine
└── SshNotStartedError  this machine cannot start another process or thread now
"""

from core.errors import USER_CAN_FIX, SuperTwinError


class RemoteLoginError(SuperTwinError):
    """Any reason why a login cannot be started."""

    exit_code = USER_CAN_FIX


class AddressError(RemoteLoginError):
    """Not an ssh:// address of a host."""

    code = "bad-address"
    status = 400


class SocketNameError(RemoteLoginError):
    """A name of a remote socket that ssh would not accept."""

    code = "bad-socket-name"


class SshMissingError(RemoteLoginError):
    """ssh is not installed on this machine."""

    code = "no-ssh"
    status = 400


class SshNotStartedError(RemoteLoginError):
    """This machine cannot start another process or thread now."""

    code = "ssh-not-started"

    def __init__(self, cause: Exception) -> None:
        why = getattr(cause, "strerror", None) or str(cause)
        super().__init__(
            f"ssh cannot be started ({why}): free memory, processes or open files here"
        )
