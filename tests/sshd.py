"""A remote host: a real sshd in a separate network namespace, with its own files.

The remote host is this machine, as seen through ssh. Root is needed to create a
network.
"""

import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tests.network import changing_network
from tests.servers import ENDS_WITH_US, ROOT, Server, wait_until

USER = "prober"
_UID = 48123
# Subnets of four addresses in 198.18.0.0/15, which RFC 2544 reserves for tests.
_PLACES = 1 << 15
_PYTHONS = [f"python3.{minor}" for minor in range(8, 16)] + ["python3"]
_CONFIG = """\
Port 22
Port 2222
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
AcceptEnv none
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
PermitRootLogin prohibit-password
"""
# tests/install.sh unpacks sshd here if there is none. Newer ones are several programs.
_UNPACKED = ROOT / ".tools/sshd"
_PARTS = {"SshdSessionPath": "sshd-session", "SshdAuthPath": "sshd-auth"}
_CLIENT = """\
Host *
    IdentityFile {folder}/user_key
    IdentitiesOnly yes
    UserKnownHostsFile {folder}/known_hosts
    GlobalKnownHostsFile /dev/null
Host twin-node
    HostName {address}
    User {user}
    Port 2222
"""


class Sshd(Server):
    """A host at `address`, `address6` and, in ssh's configuration, ``twin-node``.

    ``options`` are lines of its sshd_config; ``over`` maps files of this machine to
    their replacements on the host; if ``full`` names folders, nothing more can be
    written to them or to the user's home.
    """

    def __init__(
        self,
        *options: str,
        over: dict[str, str] | None = None,
        full: Sequence[str] = (),
    ) -> None:
        # Other users must have access, which pytest's own folders forbid.
        folder = Path(tempfile.mkdtemp(prefix="sshd-", dir="/tmp"))
        folder.chmod(0o755)
        super().__init__(folder)
        self._link = _free_link()
        place = int(self._link.removeprefix("st"))
        net = f"198.{18 + (place >> 14)}.{place >> 6 & 255}"
        self._ours, self.address = (f"{net}.{(place & 63) * 4 + i}" for i in (1, 2))
        self._ours6, self.address6 = (f"fd5e:{place:x}::{i}" for i in (1, 2))
        self._options = options
        self._over = over or {}
        self._full = full
        self._holder: subprocess.Popen[bytes] | None = None
        self.config = folder / "ssh_config"
        self.known_hosts = folder / "known_hosts"

    def start(self) -> None:
        self._make_keys()
        program, parts = _program()
        (self.folder / "sshd_config").write_text(
            # sshd uses the first of two lines.
            "\n".join([*self._options, *parts, _CONFIG.format(folder=self.folder)])
        )
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        mounts = [
            f"mount --bind {shlex.quote(new)} {shlex.quote(old)}"
            for old, new in (self._accounts() | self._over).items()
        ]
        for place in (*self._full, self.folder / "home") if self._full else ():
            # A page, and a file that fills it.
            mounts += [f"mount -t tmpfs -o size=4k,mode=1777 full {place}"]
            mounts += [f"! dd if=/dev/zero of={place}/full status=none"]
        server = self._server = f"exec {program} -D -e -f {self.folder}/sshd_config"
        # The network is separate; /sys is this machine's. The namespace has no name, so
        # it ends with its last process, however that ends.
        self.launch(
            [
                *("unshare", "--net", "--mount", "--propagation", "private"),
                *("sh", "-c", " && ".join([*mounts, server])),
            ]
        )
        self.ready(lambda: "Server listening on :: port 22." in self.output())
        with changing_network():
            self._make_network()

    def clean(self) -> None:
        inside = self.processes() if self._process else []
        with changing_network():
            super().clean()
            if self._holder:
                self._holder.kill()
                self._holder.wait()
            for pid in inside:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            _quietly("ip", "link", "del", f"{self._link}a")
        shutil.rmtree(self.folder)

    def end_listening(self) -> None:
        """End sshd and all logins, but keep its network and its view of the files."""
        command = [*ENDS_WITH_US, *self._inside(self.pid), "sleep", "600"]
        holder = subprocess.Popen(command)
        wait_until(lambda: _network(holder.pid) == _network(self.pid))
        self._holder = holder
        logins = self.sessions()
        self.end(signal.SIGKILL)
        for pid in logins:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def listen_again(self) -> None:
        """Start sshd again in the same namespaces."""
        assert self._holder
        self.launch([*self._inside(self._holder.pid), "sh", "-c", self._server])

    def set_network(self, state: str) -> None:
        """Connect or disconnect its network: ``up`` or ``down``."""
        with changing_network():
            _run("ip", "link", "set", f"{self._link}a", state)

    def set_shell(self, body: str, home: str = "home") -> None:
        """Make a script the login shell of the user or of root."""
        shell = self.folder / "shell"
        shell.write_text(f"#!/bin/sh\n{body}\n")
        shell.chmod(0o755)
        passwd = self.folder / "passwd"
        text = re.sub(f"/{home}:.*", f"/{home}:{shell}", passwd.read_text())
        passwd.write_text(text)

    def url(self, user: str = "root") -> str:
        """Return its address with the user of that name."""
        return f"ssh://{user}@{self.address}"

    def processes(self) -> list[int]:
        """Return the processes in its network, except sshd itself."""
        network = _network(self.pid)
        pids = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
        return [p for p in pids if p != self.pid and _network(p) == network]

    def sessions(self) -> list[int]:
        """Return the processes that serve logins: one or two per login."""
        return [p for p in self.processes() if _command(p).startswith("sshd")]

    @staticmethod
    def _inside(pid: int) -> tuple[str, ...]:
        # Enter its root, too: this system may itself be a chroot.
        return ("nsenter", "--net", "--mount", "--root", "--target", str(pid))

    def _make_keys(self) -> None:
        for name in ("host_key", "user_key"):
            key = self.folder / name
            _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key))
        public = (self.folder / "host_key.pub").read_text()
        places = [self.address, f"[{self.address}]:2222", self.address6]
        self.known_hosts.write_text("".join(f"{p} {public}" for p in places))
        authorized = self.folder / "authorized_keys"
        authorized.write_text((self.folder / "user_key.pub").read_text())
        # sshd reads it as the user that logs in.
        authorized.chmod(0o644)
        self.config.write_text(
            _CLIENT.format(folder=self.folder, address=self.address, user=USER)
        )

    def _make_network(self) -> None:
        ours, theirs = f"{self._link}a", f"{self._link}b"
        there = ("nsenter", "--net", "--target", str(self.pid), "ip")
        _run("ip", "link", "set", theirs, "netns", str(self.pid))
        for ip, name, v4, v6 in (
            (("ip",), ours, self._ours, self._ours6),
            (there, theirs, self.address, self.address6),
        ):
            _run(*ip, "addr", "add", f"{v4}/30", "dev", name)
            _run(*ip, "addr", "add", f"{v6}/64", "dev", name, "nodad")
            # Otherwise an automatic address would appear two seconds later.
            _run(*ip, "link", "set", name, "addrgenmode", "none")
            _run(*ip, "link", "set", name, "up")
        _run(*there, "link", "set", "lo", "up")

    def _accounts(self) -> dict[str, str]:
        """Add a user without rights, and give root an empty home."""
        for name, uid in (("home", _UID), ("root", 0)):
            (self.folder / name).mkdir(mode=0o700)
            os.chown(self.folder / name, uid, uid)
        home, root = self.folder / "home", f"root:x:0:0:root:{self.folder}/root:/bin/sh"
        lines = {
            "passwd": f"{USER}:x:{_UID}:{_UID}::{home}:/bin/sh\n",
            "shadow": f"{USER}:*:19000:0:99999:7:::\n",
            "group": f"{USER}:x:{_UID}:\n",
        }
        for name, line in lines.items():
            new = self.folder / name
            text = re.sub(
                r"^root:.*:/.*$", root, Path("/etc", name).read_text(), flags=re.M
            )
            # sshd runs as this user until a login succeeds.
            if name == "passwd" and "\nsshd:" not in text:
                line += f"sshd:x:{_UID + 1}:65534::/run/sshd:/usr/sbin/nologin\n"
            new.write_text(text + line)
            new.chmod(0o600 if name == "shadow" else 0o644)
        return {f"/etc/{name}": str(self.folder / name) for name in lines}


def _program() -> tuple[str, list[str]]:
    """Return the installed or unpacked sshd, and options that newer versions need."""
    top = Path("/") if Path("/usr/sbin/sshd").exists() else _UNPACKED
    parts = {name: top / "usr/lib/openssh" / part for name, part in _PARTS.items()}
    lines = [f"{name} {path}" for name, path in parts.items() if path.exists()]
    # A client that was refused in one test would have to wait in the next.
    lines += ["PerSourcePenalties no"] if lines else []
    return shlex.quote(str(top / "usr/sbin/sshd")), lines


def without_python() -> dict[str, str]:
    """Return mounts that hide every Python."""
    folders = ("/usr/bin", "/usr/local/bin")
    found = [Path(folder, name) for folder in folders for name in _PYTHONS]
    return {str(path): "/bin/false" for path in found if path.exists()}


def _free_link() -> str:
    """Create a veth pair with an unused name; the name determines the subnet."""
    for place in random.sample(range(_PLACES), 20):
        ours, theirs = f"st{place}a", f"st{place}b"
        words = ("ip", "link", "add", ours, "type", "veth", "peer", "name", theirs)
        with changing_network():
            if _quietly(*words) == 0:
                return ours[:-1]
    raise AssertionError("no network: is iproute2 installed, and the kernel's veth?")


def _network(pid: int) -> str | None:
    try:
        return str(Path(f"/proc/{pid}/ns/net").readlink())
    except OSError:
        return None


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return ""


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout


def _quietly(*command: str) -> int:
    return subprocess.run(command, capture_output=True, check=False).returncode
