"""A run's program without private values."""

import ast
import json
import re
from collections.abc import Callable

from observations.environment import is_secret
from observations.program import program_end

# The last line of a program. Older versions wrote the class name in lower case.
_REQUEST = re.compile(
    rb"\n\nos\._exit\(run\(json\.loads\(('(?:[^'\\\n]|\\.)*')\), "
    rb"([Ss]urroundings|CommandEnvironment)\)\)\n\Z"
)
_NEEDS = """

if missing := [name for name in {} if name not in os.environ]:
    sys.exit("set " + ", ".join(missing) + ": the run had it, and its value is private")
"""


def without_secrets(program: bytes) -> bytes | None:
    """Return a program without the variables that look like secrets.

    The result runs only where they are set, and otherwise lists the missing ones. None
    for a file that SuperTwin did not write.
    """
    return _without(program, is_secret)


def without_values(program: bytes) -> bytes | None:
    """Return a program without the values of any variable; see `without_secrets`."""
    return _without(program, lambda _name, _value: True)


def _without(program: bytes, hides: Callable[[str, str], bool]) -> bytes | None:
    found = _REQUEST.search(program)
    if not found:
        return None
    try:
        request = json.loads(ast.literal_eval(found[1].decode()))
        env = request.get("env", {})
        secret = [name for name, value in env.items() if hides(name, value)]
    except (ValueError, SyntaxError, AttributeError, TypeError):
        return None
    if not secret:
        return program
    public = {name: value for name, value in env.items() if name not in secret}
    last = program_end({**request, "env": public}, found[2].decode())
    return program[: found.start()] + _NEEDS.format(secret).encode() + last
