"""Builds the program that is sent to a host: the runner with a request.

Python on the host reads it from its standard input. The part that all programs have in
common can be sent ahead, while there is no request yet.
"""

import json
from collections.abc import Mapping
from pathlib import Path

_FUTURE = "from __future__ import annotations\n"
# Read as text, so that callers need not import these modules.
_PARTS = ("environment.py", "runner.py")
# Arguments of the runner, as in runner.py. HELD: the end of its input cancels the run.
# INPUT: the number of the descriptor that the command reads.
HELD, INPUT = "held", "input="
# Reads and executes the common start, then reads a whole program and executes its
# remainder. The length precedes each part.
START = (
    "import sys, base64, ctypes, hashlib, json, pathlib, select, shutil, subprocess; "
    "_part = lambda: sys.stdin.buffer.read(int(sys.stdin.buffer.readline() or 0)); "
    "_begin = _part(); exec(_begin); _all = _part(); "
    "exec(_all[len(_begin) :] if _all.startswith(_begin) else _all)"
)


def program(request: Mapping[str, object]) -> bytes:
    """Return the runner with a request; ``python3 run.py`` runs it anywhere.

    The request is embedded as data: no part of it is executed as Python.
    """
    text = json.dumps(dict(request), sort_keys=True)
    # All output is written by then and the caller waits for the exit: skip cleanup.
    end = f"\n\nos._exit(run(json.loads({text!r}), CommandEnvironment))\n"
    return program_start() + end.encode()


def program_start() -> bytes:
    """Return the common start of all programs; alone it does nothing."""
    # The future import may appear only once, at the start.
    return "".join([_FUTURE, *map(_source, _PARTS)]).encode()


def framed(part: bytes) -> bytes:
    """Encode a part as START reads it."""
    return b"%d\n%s" % (len(part), part)


def _source(name: str) -> str:
    text = Path(__file__).with_name(name).read_text("utf-8")
    return text.replace(_FUTURE, "")
