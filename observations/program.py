"""Builds the program that is sent to a host: the runner with a request."""

import json
from collections.abc import Mapping
from pathlib import Path

_FUTURE = "from __future__ import annotations\n"
# Read as text, so that callers need not import these modules.
_PARTS = ("environment.py", "runner.py")


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


def _source(name: str) -> str:
    text = Path(__file__).with_name(name).read_text("utf-8")
    return text.replace(_FUTURE, "")
