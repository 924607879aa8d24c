"""A Slurm of one node, this machine: its own controller and daemon on free ports.

It needs no systemd, MUNGE or control groups, and does not use this machine's own Slurm.
"""

import getpass
import os
import shutil
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.ports import LOOPBACK, free_ports
from tests.servers import ROOT, Server

# tests/install.sh unpacks Slurm here if it is not installed.
_UNPACKED = ROOT / ".tools/slurm"
_CONFIG = """\
ClusterName=test
SlurmctldHost={host}({address})
SlurmctldPort={controller}
SlurmdPort={daemon}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
InactiveLimit=0
KillWait=5
PluginDir={plugins}
NodeName={host} NodeAddr={address} CPUs={cpus} State=UNKNOWN
PartitionName=test Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


class _Daemon(Server):
    """One of the two daemons, in the foreground."""

    def __init__(
        self, folder: Path, command: list[str], env: Mapping[str, str]
    ) -> None:
        super().__init__(folder)
        self._command, self._env = command, env

    def start(self) -> None:
        self.launch(self._command, **self._env)


class Slurm:
    """Controller and daemon; ``env`` is the environment that a user's `srun` needs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        top = Path("/") if shutil.which("slurmctld") else _UNPACKED
        (library,) = top.glob("usr/lib/*/slurm-wlm")
        self.env = {
            "SLURM_CONF": str(folder / "slurm.conf"),
            "PATH": f"{top / 'usr/bin'}:{os.environ['PATH']}",
        }
        if top == _UNPACKED:
            self.env["LD_LIBRARY_PATH"] = f"{library}:{library.parent}"
        self._plugins = library
        self._programs = top / "usr/sbin"
        controller, daemon, stepd = map(
            self._program, ("slurmctld", "slurmd", "slurmstepd")
        )
        self._daemons = [
            self._daemon("slurmctld", [controller, "-D"]),
            self._daemon("slurmd", [daemon, "-D", "-d", stepd]),
        ]

    def __enter__(self) -> "Slurm":
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        self._configure()
        try:
            for daemon in self._daemons:
                daemon.start()
            self._daemons[1].ready(self._is_idle)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for daemon in reversed(self._daemons):
            daemon.clean()

    @property
    def version(self) -> tuple[int, ...]:
        """Year and month of the release: 24, 11."""
        number = self.output_of("srun", "--version").split()[-1]
        return tuple(map(int, number.split(".")[:2]))

    def output_of(self, *words: str) -> str:
        """Return what a command of Slurm prints."""
        done = subprocess.run(
            words, env=os.environ | self.env, capture_output=True, text=True
        )
        return done.stdout.strip()

    def _program(self, name: str) -> str:
        """Link a program under its own name: Slurm 24 takes its role from the name."""
        link = self.folder / "programs" / name
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(self._programs / f"{name}-wlm")
        return str(link)

    def _daemon(self, name: str, command: list[str]) -> _Daemon:
        return _Daemon(self.folder / name, command, self.env)

    def _is_idle(self) -> bool:
        return self.output_of("sinfo", "-h", "-o", "%T") == "idle"

    def _configure(self) -> None:
        controller, daemon = free_ports(2)
        text = _CONFIG.format(
            host=socket.gethostname().partition(".")[0],
            address=LOOPBACK,
            controller=controller,
            daemon=daemon,
            user=getpass.getuser(),
            folder=self.folder,
            plugins=self._plugins,
            cpus=os.cpu_count(),
        )
        (self.folder / "slurm.conf").write_text(text)
