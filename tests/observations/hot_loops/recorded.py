"""A small program with known loops, run by a real runner that samples it."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from observations.events import event_of
from observations.hot_loops.analysis import LoopAnalysis, analyse_loops
from observations.launch import program

SOURCE = Path(__file__).with_name("kernels.c")
# How often a loop is repeated: long enough for samples on any machine.
CHAIN, INDEPENDENT = ("chain", "400000"), ("independent", "2000000")


def build(folder: Path, *flags: str, name: str = "kernels") -> str:
    """Compile the program; return its path."""
    path = folder / name
    words = ["gcc", "-O2", "-ftree-vectorize", *flags, str(SOURCE), "-o", str(path)]
    subprocess.run(words, check=True, timeout=120)
    return str(path)


def run(*argv: str, env: Mapping[str, str] | None = None, **more: Any) -> Any:
    """Run a command and sample it; return the events by name."""
    done = subprocess.run(
        [sys.executable, "-I", "-"],
        input=program({"argv": list(argv), "hot_loops": True, **more}),
        capture_output=True,
        check=False,
        timeout=120,
        env={**os.environ, **(env or {})},
    )
    assert done.stderr == b""
    found = [event_of(line) for line in done.stdout.splitlines()]
    return {event["event"]: event for event in found}


def analysed(*argv: str, **more: Any) -> LoopAnalysis:
    """Run a command and sample it; return the analysis."""
    return analyse_loops(run(*argv, **more)["hot_loops"])
