"""The exception tree of remote_login; every message names the thing and the cure.

RemoteLoginError
├── AddressError        what is no ssh:// address of a host
└── SshMissingError     no ssh is installed here
"""


class RemoteLoginError(Exception):
    """Anything that keeps us from starting a login."""


class AddressError(RemoteLoginError):
    """What is no ssh:// address of a host."""


class SshMissingError(RemoteLoginError):
    """No ssh is installed on this machine."""
