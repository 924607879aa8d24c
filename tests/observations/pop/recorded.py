"""Small parallel programs, compiled here and run by a real runner with the recorder."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from observations.events import event_of
from observations.launch import program
from observations.pop.times import sources

SOURCE = Path(__file__).with_name("imbalance.c")
MPIRUN = ("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2")
# What is in the object file and what it is linked to.
KINDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "serial": ((), ()),
    "static": ((), ("-static",)),
    "gcc": (("-fopenmp", "-DWITH_OPENMP"), ("-fopenmp",)),
    "llvm": (("-fopenmp", "-DWITH_OPENMP"), ("-l:libomp.so.5",)),
    "mpi": (("-DWITH_MPI",), ("-l:libmpi.so.40",)),
    "hybrid": (
        ("-fopenmp", "-DWITH_OPENMP", "-DWITH_MPI"),
        ("-l:libmpi.so.40", "-l:libomp.so.5"),
    ),
}


def build(kind: str, folder: Path) -> str:
    """Compile the program in one of the KINDS; return its path."""
    flags, libraries = KINDS[kind]
    whole, parts = folder / kind, folder / f"{kind}.o"
    # Not in one call: GCC would link libgomp.
    for words in (
        ["gcc", "-O1", "-fPIC", *flags, "-c", str(SOURCE), "-o", str(parts)],
        ["gcc", str(parts), "-o", str(whole), *libraries],
    ):
        subprocess.run(words, check=True, timeout=120)
    return str(whole)


def recorded(
    *argv: str,
    libomp: bool = False,
    trace: bool = False,
    env: Mapping[str, str] | None = None,
    **more: Any,
) -> Mapping[str, Any]:
    """Run a command with the recorder; return the event with its times."""
    request = {
        "argv": list(argv),
        "env": {**(env or {})},
        "pop": {"sources": sources(), "libomp": libomp, "trace": trace},
        **more,
    }
    return recorded_event("pop", request)


def recorded_event(name: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Run the command of a request; return the event with what was recorded."""
    done = subprocess.run(
        [sys.executable, "-I", "-"],
        input=program(request),
        capture_output=True,
        check=False,
        timeout=120,
        env={**os.environ, "OMPI_MCA_btl_base_warn_component_unused": "0"},
    )
    assert done.stderr == b""
    lines = done.stdout.splitlines()
    (line,) = (one for one in lines if json.loads(one)["event"] == name)
    found: Mapping[str, Any] = event_of(line)
    return found
