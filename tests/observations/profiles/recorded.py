"""A program with known shares, run by a real runner that samples its stacks."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from observations.events import event_of
from observations.launch import program
from observations.profiles.profile import Profile, Share, profile_of

SOURCE = Path(__file__).with_name("shares.c")
RATE = 997
# About a second of CPU time.
TIMES = "60000"


def build(folder: Path, *flags: str, name: str = "shares") -> str:
    """Compile the program without frame pointers; return its path."""
    path = folder / name
    words = ["gcc", "-O2", "-fomit-frame-pointer", *flags, str(SOURCE)]
    subprocess.run([*words, "-o", str(path)], check=True, timeout=120)
    return str(path)


def run(*argv: str, env: Mapping[str, str] | None = None, **more: Any) -> Any:
    """Run a command and sample its stacks; return the events by name."""
    done = subprocess.run(
        [sys.executable, "-I", "-"],
        input=program({"argv": list(argv), "profile": RATE, **more}),
        capture_output=True,
        check=False,
        timeout=120,
        env={**os.environ, **(env or {})},
    )
    assert done.stderr == b""
    found = [event_of(line) for line in done.stdout.splitlines()]
    return {event["event"]: event for event in found}


def profiled(*argv: str, **more: Any) -> Profile:
    """Run a command and sample its stacks; return the profile."""
    return profile_of(run(*argv, **more)["profile"])


def shares(profile: Profile) -> dict[str, Share]:
    """Return the share of each function by its name."""
    return {one.name: share for one, share in profile.functions().items()}
