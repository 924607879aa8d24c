"""Whether this machine's processes can be read from the kernel, and if not, why."""

import logging
import platform
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sampler_bridge.sources.processes.program import ProcessProgram
from sampling.errors import SourceDownError

_LOG = logging.getLogger(__name__)

# /proc rounds CPU times in another way on other architectures.
_TESTED = ("x86_64", "aarch64")
_INITIAL_NAMESPACE = "pid:[4026531836]"
_UNIX = "unix://"
_SECONDS = 2.0
# Every PID namespace has it; some virtual machines hide theirs.
_FIRST = 1


@dataclass(frozen=True)
class ProcessAccess:
    """The program and the metrics that it serves; ``reason`` says why it serves none.

    An empty ``path`` means that none was asked for. ``hidden`` says which processes it
    cannot see.
    """

    path: Path = Path()
    metrics: Mapping[str, type[np.generic]] = field(default_factory=dict)
    reason: str = ""
    hidden: str = ""

    def serves(self, metric: str) -> bool:
        """Whether the kernel, not PCP, is read for a metric."""
        return metric in self.metrics

    def document(self) -> dict[str, Any]:
        """What reads processes, as in the bridge's status."""
        return {
            "source": "kernel" if self.metrics else "pcp",
            "metrics": len(self.metrics),
            "reason": self.reason or None,
            "hidden": self.hidden or None,
        }


def find_access(path: Path | None, pcp: str) -> ProcessAccess:
    """Try the program once; ``pcp`` is the address of this machine's PMCD."""
    if path is None:
        return ProcessAccess()
    reason = _obstacle(path, pcp)
    if not reason:
        try:
            return _tried(path)
        except SourceDownError as error:
            reason = str(error)
    _LOG.warning("processes are read through PCP, which costs more: %s", reason)
    return ProcessAccess(path, reason=reason)


def _tried(path: Path) -> ProcessAccess:
    """Start the program and ask it once; raises SourceDownError."""
    program = ProcessProgram(path)
    try:
        seen = program.ask([0]).tasks
    finally:
        program.close()
    _LOG.info("processes are read from the kernel by BPF")
    hidden = ""
    if seen is None or _FIRST not in seen.numbers:
        hidden = f"the kernel does not show process {_FIRST} to BPF: it has no values"
        _LOG.warning("%s", hidden)
    return ProcessAccess(path, program.metrics, hidden=hidden)


def _obstacle(path: Path, pcp: str) -> str:
    if not path.exists():
        return (
            "the program that reads the kernel was not compiled: `apt install gcc "
            "libc6-dev libbpf-dev`, then `make install`"
        )
    if platform.machine() not in _TESTED:
        return f"the kernel was never read by BPF on {platform.machine()}"
    if not _sees_same_processes(pcp):
        return "PMCD may see other processes than the bridge (containers)"
    return ""


def _sees_same_processes(pcp: str) -> bool:
    """Whether PMCD runs in the bridge's PID namespace.

    While PMCD does not answer, it is expected to be where the first process is.
    """
    own = _namespace("self")
    if not pcp.startswith(_UNIX):
        return False
    try:
        peer = _peer(pcp.removeprefix(_UNIX))
    except OSError:
        return own == _INITIAL_NAMESPACE
    try:
        return _namespace(str(peer)) == own
    except OSError:
        return False


def _namespace(process: str) -> str:
    return str(Path(f"/proc/{process}/ns/pid").readlink())


def _peer(path: str) -> int:
    """The process behind a Unix socket; 0 if it is in another namespace."""
    credentials = struct.Struct("3i")
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(_SECONDS)
        client.connect(path)
        found = client.getsockopt(
            socket.SOL_SOCKET, socket.SO_PEERCRED, credentials.size
        )
    pid: int = credentials.unpack(found)[0]
    return pid
