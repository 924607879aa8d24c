"""A program with known shares, run by a real runner that samples its stacks."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from observations.events import event_of
from observations.launch import program
from observations.profiles.profile import Profile, ProfileKind, Share, profile_of

RATE = 997
# About a second of CPU time.
TIMES = "60000"


def build(
    folder: Path, *flags: str, name: str = "shares", source: str = "shares"
) -> str:
    """Compile a program without frame pointers; return its path."""
    path = folder / name
    source = Path(__file__).with_name(f"{source}.c")
    words = ["gcc", "-O2", "-fomit-frame-pointer", *flags, str(source)]
    subprocess.run([*words, "-o", str(path)], check=True, timeout=120)
    return str(path)


def run(
    *argv: str,
    env: Mapping[str, str] | None = None,
    started: Mapping[str, Any] | None = None,
    **more: Any,
) -> Any:
    """Run a command and sample its stacks; return the events by name.

    ``started`` are options of subprocess, such as ``user``.
    """
    done = subprocess.run(
        ["/usr/bin/python3" if started else sys.executable, "-I", "-"],
        input=program({"argv": list(argv), "profile": RATE, **more}),
        capture_output=True,
        check=False,
        timeout=120,
        env={**os.environ, **(env or {})},
        **(started or {}),
    )
    assert done.stderr == b""
    found = [event_of(line) for line in done.stdout.splitlines()]
    return {event["event"]: event for event in found}


def profiled(*argv: str, **more: Any) -> Profile:
    """Run a command and sample its stacks; return the profile."""
    return profile_of(run(*argv, **more)["profile"])


def waits(*argv: str, **more: Any) -> Profile:
    """Run a command and record where it waits; return the profile off the CPU."""
    return profile_of(run(*argv, off_cpu=True, **more)["profile"], ProfileKind.OFF_CPU)


def shares(profile: Profile) -> dict[str, Share]:
    """Return the share of each function by its name."""
    return {one.name: share for one, share in profile.functions().items()}
