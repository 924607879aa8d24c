"""What is sent to where a command is to run: the runner, with what it is asked for."""

import json
from collections.abc import Mapping
from pathlib import Path

_FUTURE = "from __future__ import annotations\n"
# Read as text: whoever sends them need not import them.
_PARTS = ("environment.py", "runner.py")
_ABOUT = "Surroundings"


def program(request: Mapping[str, object]) -> bytes:
    """The runner with a request, complete: ``python3 run.py`` runs it anywhere.

    The request is data in it: nothing of a command is read as a program.
    """
    return beginning() + ending(request)


def beginning() -> bytes:
    """What all programs begin with; by itself it does nothing."""
    # What is to come first may come twice in one file, but not later.
    return "".join([_FUTURE, *map(_source, _PARTS)]).encode()


def ending(request: Mapping[str, object], about: str = _ABOUT) -> bytes:
    """What a program ends with; ``about`` is what it asks about the command."""
    text = json.dumps(dict(request), sort_keys=True)
    # All is said then, and who follows waits for the end: nothing is tidied up.
    return f"\n\nos._exit(run(json.loads({text!r}), {about}))\n".encode()


def _source(name: str) -> str:
    text = Path(__file__).with_name(name).read_text("utf-8")
    return text.replace(_FUTURE, "")
