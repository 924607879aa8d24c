"""Real control groups for tests, in all hierarchies of this machine."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from core.linux.cgroups.mounts import read_mounts
from tests.servers import ENDS_WITH_US


@dataclass
class Folders:
    """Groups below ``/{top}``; ``mounts`` are the hierarchies, by controller or v2."""

    top: str
    mounts: dict[str, Path]
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def make(self, path: str, *controllers: str) -> str:
        """Make a group in all hierarchies or those of controllers; return its path."""
        for mount in self._chosen(controllers):
            (mount / self.top / path).mkdir(parents=True, exist_ok=True)
        return f"/{self.top}/{path}"

    def write(self, path: str, controller: str, name: str, text: str) -> None:
        """Write a file of a group."""
        (self.mounts[controller] / self.top / path / name).write_text(text)

    def put(self, path: str, *command: str) -> subprocess.Popen[bytes]:
        """Start a program in a group, in each hierarchy that has the group."""
        process = subprocess.Popen([*ENDS_WITH_US, *command])
        self.processes.append(process)
        for mount in {*self.mounts.values()}:
            with suppress(OSError):  # a CPU set without CPUs accepts no process
                (mount / self.top / path / "cgroup.procs").write_text(str(process.pid))
        return process

    def remove(self, path: str) -> None:
        """Remove a group and all groups below it at once, as a scheduler does."""
        for mount in {*self.mounts.values()}:
            remove(mount / self.top / path)

    def _chosen(self, controllers: tuple[str, ...]) -> set[Path]:
        return {self.mounts[name] for name in controllers or self.mounts}


def remove(folder: Path) -> None:
    """Remove the folders of a group; the kernel may still hold an ended process."""
    for inner, _, _ in os.walk(folder, topdown=False):
        for _ in range(100):
            try:
                Path(inner).rmdir()
                break
            except FileNotFoundError:
                break
            except OSError:
                time.sleep(0.02)


@contextmanager
def cgroup_folders(name: str) -> Iterator[Folders]:
    """Groups below ``/{name}{pid}``, removed at the end together with their processes.

    Skip the test, with a message, if groups cannot be created on this machine.
    """
    found = read_mounts()
    mounts = {c: Path(one["path"]) for one in found for c in one["controllers"]}
    for one in found:
        if one["version"] == 2:
            mounts["v2"] = Path(one["path"])
    folders = Folders(f"{name}{os.getpid()}", mounts)
    made: dict[str, Path] = {}
    for key, mount in mounts.items():
        with suppress(OSError):
            (mount / folders.top).mkdir(exist_ok=True)
            made[key] = mount
    folders.mounts = made
    if not made:
        pytest.skip(
            "no control group can be made here: run as root, with /sys/fs/cgroup"
        )
    try:
        yield folders
    finally:
        for process in folders.processes:
            process.kill()
            process.wait()
        for mount in {*made.values()}:
            remove(mount / folders.top)
