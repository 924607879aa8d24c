"""The real tools, started as a format says."""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from pinning.formats import COMMAND, FORMATS
from pinning.tree import Tree

_AFFINITY = str(Path(__file__).with_name("affinity.py"))
GNU, LLVM = "libgomp.so.1", "libomp.so.5"


def here() -> list[int]:
    """At most two CPUs of this machine that may be used, the highest first."""
    return sorted(os.sched_getaffinity(0), reverse=True)[:2]


def _without_likwid() -> str:
    """Why likwid-pin cannot be compared here; empty if it can."""
    if platform.machine() != "x86_64" and not shutil.which("likwid-pin"):
        return "tests/install.sh brings likwid-pin on x86_64 only"
    if len(os.sched_getaffinity(0)) < (os.cpu_count() or 1):
        return "likwid-pin counts from 0 within a cpuset, and this is one"
    return ""


needs_likwid_pin = pytest.mark.skipif(bool(_without_likwid()), reason=_without_likwid())


def alone() -> list[str]:
    """A command that prints the CPUs of its process."""
    return [sys.executable, _AFFINITY]


def team(library: str) -> list[str]:
    """A command that prints the CPUs of each thread of an OpenMP library."""
    return [sys.executable, _AFFINITY, library]


def run(tree: Tree, cpus: Sequence[int], name: str, command: Sequence[str]) -> str:
    """The output of a command that a shell starts as a format says."""
    text = FORMATS[name].write(tree, cpus)
    assert text.endswith(f" {COMMAND}")
    line = text.removesuffix(COMMAND) + '"$@"'
    return subprocess.run(
        ["/bin/sh", "-c", line, "sh", *command],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout


def mpirun(folder: Path, *options: str, padding: int = 0) -> str:
    """Open MPI's output for these options, errors included.

    ``padding`` is the number of extra bytes of environment, which shift its memory.
    """
    ran = subprocess.run(
        ["mpirun", "--allow-run-as-root", *options],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=folder,
        env={
            **os.environ,
            "OMPI_MCA_btl_base_warn_component_unused": "0",
            "PADDING": "x" * padding,
        },
    )
    return ran.stdout + ran.stderr
