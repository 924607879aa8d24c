"""What is sent to where a command is to run: the runner, with what it is asked for."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from observations import runner, surroundings

_FUTURE = "from __future__ import annotations\n"


def program(request: Mapping[str, object]) -> bytes:
    """The runner with a request, complete: ``python3 run.py`` runs it anywhere.

    The request is data in it: nothing of a command is read as a program.
    """
    text = json.dumps(dict(request), sort_keys=True)
    # What is to come first may come twice in one file, but not later.
    parts = [_FUTURE, *(_source(module) for module in (surroundings, runner))]
    # All is said then, and who follows waits for the end: nothing is tidied up.
    parts += [f"\n\nos._exit(run(json.loads({text!r}), surroundings))\n"]
    return "".join(parts).encode()


def _source(module: ModuleType) -> str:
    assert module.__file__  # noqa: S101
    return Path(module.__file__).read_text("utf-8").replace(_FUTURE, "")
