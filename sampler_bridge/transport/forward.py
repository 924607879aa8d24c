"""A local socket that leads to the PMCD of another machine, kept open over ssh.

There is one login for each host, however many samplers use it. When it ends, it is
repeated. Until then the last message of ssh is the reason why the host does not answer.
"""

import logging
import time
from pathlib import Path
from threading import Event

from core.linux.pmcd_socket import greets
from core.linux.ssh.address import Address
from core.linux.ssh.client import CONNECT_SECONDS, OPTIONS, Ssh, ssh_argv
from core.linux.ssh.errors import RemoteLoginError
from core.linux.ssh.reasons import explain, printable
from core.linux.ssh.sockets import plain_socket
from sampler_bridge.worker import Worker
from sampling.errors import SourceDownError

_LOG = logging.getLogger(__name__)

PMCD_SOCKET = "/run/pcp/pmcd.socket"
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 30.0
# The pause before the next login, and its timeout, grow by this share of the outage so
# far. They can prolong the outage by as much.
_PART_OF_OUTAGE = 0.25
# An attempt may begin a moment before a network is back, and then gets no answer.
_FIRST_TIMEOUT = 3
_HOLDS = 5.0  # seconds after which a login counts as successful
_LOGIN_SECONDS = 30.0
_LOOK = 0.02

# A lost network is noticed within six seconds of silence.
_MASTER = {
    **OPTIONS,
    "Compression": "no",
    # With -M as well, ssh would ask for confirmation before each forward.
    "ControlMaster": "yes",
    "ControlPersist": "no",
    "ServerAliveInterval": "2",
    "StreamLocalBindMask": "0177",
    "StreamLocalBindUnlink": "yes",
}
# Talks only to the master. It reads no configuration, because it would add the forwards
# in it.
_CLIENT = {"ControlMaster": "no", "ProxyCommand": "false"}
_NO_CONFIG = Path("none")
_REFUSED = (
    (
        "prohibited",
        "the remote sshd forwards no sockets: set AllowStreamLocalForwarding yes",
    ),
    # OpenSSH's sshd says no more than this when it forbids sockets.
    (
        "open failed",
        "no PMCD listens at {} on the host, or its sshd forwards no sockets: start "
        "pmcd, or set AllowStreamLocalForwarding yes",
    ),
)


class SshForward(Worker):
    """Keeps a local socket open that leads to the PMCD of an address.

    ``folder`` is for this bridge only; the names of its sockets begin with ``name``.
    ``config`` replaces ~/.ssh/config. ``remote_socket`` is the socket of the PMCD on
    the remote machine. Nothing happens before `start`.
    """

    def __init__(
        self,
        address: Address,
        folder: Path,
        name: str,
        config: Path | None,
        remote_socket: str = PMCD_SOCKET,
    ) -> None:
        super().__init__(f"ssh-{address.host}")
        self._address = address
        self._socket = folder / f"{name}p"
        self._control = folder / f"{name}m"
        self._config = config
        self._remote_socket = remote_socket
        self._reason: str | None = "it was not reached yet"
        self._is_start = True
        self._ssh: Ssh | None = None
        self._down_since = time.monotonic()
        self._ending = Event()

    @property
    def pcp(self) -> str:
        """The local address of the PMCD, which works as long as the login lasts."""
        return f"unix://{self._socket}"

    def reach(self) -> None:
        """Make sure that the PMCD answers; raises SourceDownError with the reason."""
        if self._reason is not None:
            raise self._down(self._reason)
        if not greets(self._socket):
            raise self._down(self._reason or self._refusal())

    def translate(self, error: SourceDownError) -> SourceDownError:
        """An error of PCP's library, with the host instead of the local socket."""
        return self._down(self._reason or str(error).replace(self.pcp, "its socket"))

    def stop(self) -> None:
        """End the login; the thread then ends by itself."""
        self._ending.set()
        if ssh := self._ssh:
            ssh.process.terminate()

    def _work(self) -> None:
        while not self._ending.is_set():
            try:
                self._log_in()
            except (RemoteLoginError, OSError) as error:
                self._set_reason(str(error))
            self._ending.wait(self._pause())
        self._reason = "its login was ended"

    def _down(self, reason: str) -> SourceDownError:
        text = f"PMCD of {self._address} does not answer: {reason}"
        return SourceDownError(text, is_start=self._is_start)

    def _pause(self) -> float:
        return min(_FIRST_PAUSE + self._part(), _LONGEST_PAUSE)

    def _timeout(self) -> int:
        return min(_FIRST_TIMEOUT + int(self._part()), CONNECT_SECONDS)

    def _part(self) -> float:
        """A share of the time since it was last reached, in seconds."""
        return _PART_OF_OUTAGE * (time.monotonic() - self._down_since)

    def _log_in(self) -> None:
        """Log in, and return when the login ends; raises RemoteLoginError, OSError."""
        # The path comes from the graph, which others can write.
        plain_socket(self._remote_socket)
        self._control.unlink(missing_ok=True)
        options = {
            **_MASTER,
            "ConnectTimeout": str(self._timeout()),
            "ControlPath": str(self._control),
        }
        argv = ssh_argv(self._address, self._config, options, "-N")
        self._ssh = ssh = Ssh(argv, self._address)
        try:
            if self._is_in(ssh) and self._forward(ssh):
                _LOG.info("%s: logged in", self._address)
                self._reason, self._is_start = None, False
                since = time.monotonic()
                ssh.wait()
                if time.monotonic() - since > _HOLDS:
                    self._down_since = time.monotonic()
        finally:
            ended = ssh.process.poll() is not None
            ssh.end()
            self._ssh = None
        if ended and not self._ending.is_set():
            self._set_reason(explain(self._address, ssh.last_lines()))

    def _is_in(self, ssh: Ssh) -> bool:
        """Wait for the login; False if it failed or is no longer wanted."""
        until = time.monotonic() + _LOGIN_SECONDS
        while not self._control.exists():
            if self._ending.is_set() or ssh.process.poll() is not None:
                return False
            if time.monotonic() > until:
                self._set_reason(
                    f"it did not accept the login within {_LOGIN_SECONDS:g} s"
                )
                return False
            time.sleep(_LOOK)
        return True

    def _forward(self, ssh: Ssh) -> bool:
        options = {**_CLIENT, "ControlPath": str(self._control)}
        where = f"{self._socket}:{self._remote_socket}"
        argv = ssh_argv(
            self._address, _NO_CONFIG, options, "-O", "forward", "-L", where
        )
        client = Ssh(argv, self._address)
        done = client.wait(CONNECT_SECONDS) == 0
        client.end()
        lines = client.last_lines()
        if not done and ssh.process.poll() is None:
            self._set_reason("ssh created no socket: " + printable(" ".join(lines)))
        return done

    def _refusal(self) -> str:
        """Why a connection to the socket fails, from the last message of ssh."""
        lines = self._ssh.last_lines() if self._ssh else []
        last = next((line for line in reversed(lines) if "open failed" in line), "")
        found = [reason for sign, reason in _REFUSED if sign in last]
        return (
            found[0].format(self._remote_socket)
            if found
            else "it does not answer: does it hang?"
        )

    def _set_reason(self, reason: str) -> None:
        if reason != self._reason:
            _LOG.warning("%s: %s", self._address, reason)
        self._reason, self._is_start = reason, False
