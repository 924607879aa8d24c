"""A run's program without what others are not to know."""

import ast
import json
import re

from observations.program import ending
from observations.surroundings import is_secret

# The last line of a program; what it asks about the command was called otherwise once.
_REQUEST = re.compile(
    rb"\n\nos\._exit\(run\(json\.loads\(('(?:[^'\\\n]|\\.)*')\), "
    rb"([Ss]urroundings)\)\)\n\Z"
)
_NEEDS = """

if missing := [name for name in {} if name not in os.environ]:
    sys.exit("set " + ", ".join(missing) + ": a secret of this run, not told to others")
"""


def without_secrets(program: bytes) -> bytes | None:
    """The same program for others: variables that look like secrets are left out.

    It runs where they are set, and else says which. None for what is none of ours.
    """
    found = _REQUEST.search(program)
    if not found:
        return None
    try:
        request = json.loads(ast.literal_eval(found[1].decode()))
        env = request.get("env", {})
        secret = [name for name, value in env.items() if is_secret(name, value)]
    except (ValueError, SyntaxError, AttributeError, TypeError):
        return None
    if not secret:
        return program
    told = {name: value for name, value in env.items() if name not in secret}
    last = ending({**request, "env": told}, found[2].decode())
    return program[: found.start()] + _NEEDS.format(secret).encode() + last
