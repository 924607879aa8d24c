"""A small program with known shares, run by a real runner that samples its stacks."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from observations.events import event_of
from observations.launch import program
from observations.profiles.profile import Profile, profile_of

SOURCE = Path(__file__).with_name("two.c")
# How often it calls its functions: long enough for samples on any machine.
ROUNDS = "2500"


def build(folder: Path, *flags: str, name: str = "two") -> str:
    """Compile the program without frame pointers; return its path."""
    path = folder / name
    words = ["gcc", "-O2", "-fomit-frame-pointer", *flags, str(SOURCE), "-o", str(path)]
    subprocess.run(words, check=True, timeout=120)
    return str(path)


def run(*argv: str, rate: int = 499, env: Mapping[str, str] | None = None) -> Any:
    """Run a command and sample it; return the events by name."""
    done = subprocess.run(
        [sys.executable, "-I", "-"],
        input=program({"argv": list(argv), "profile": rate}),
        capture_output=True,
        check=False,
        timeout=120,
        env={**os.environ, **(env or {})},
    )
    assert done.stderr == b""
    found = [event_of(line) for line in done.stdout.splitlines()]
    return {event["event"]: event for event in found}


def profiled(*argv: str, **more: Any) -> Profile:
    """Run a command and sample it; return its profile."""
    return profile_of(run(*argv, **more)["profile"])


def shares(profile: Profile, counts: list[int]) -> dict[str, float]:
    """Return the share of each function by its name."""
    return {
        profile.title(at): count / profile.samples for at, count in enumerate(counts)
    }
