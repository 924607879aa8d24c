"""The scope of a token: how it is written, and what is wrong with one."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from core.errors import UserError
from core.stores.scope import WILDCARD, Scope

_MOST = 100
# The names of options and of the members of a file and of `POST /tokens`.
KINDS = {"hosts": "host", "jobs": "job", "users": "user", "metrics": "metric"}
_METRIC = re.compile(r"[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*(\.\*)?")
_NAME = re.compile(r"[^\x00-\x1f\x7f]{1,300}")


class ScopeError(UserError):
    """The scope of a token is not valid."""

    code = "bad-scope"


def read_scope(names: Mapping[str, Sequence[str]]) -> Scope:
    """Check the names of each kind and return the scope; raises ScopeError."""
    for kind, given in names.items():
        if len(given) > _MOST:
            raise ScopeError(
                f"{len(given)} names of {kind}: a token may have {_MOST} at most"
            )
        for name in given:
            _check(KINDS[kind], name)
    return Scope(**{kind: tuple(dict.fromkeys(given)) for kind, given in names.items()})


def _check(kind: str, name: str) -> None:
    if not _NAME.fullmatch(name) or not name.strip():
        raise ScopeError(f"{kind} {name[:80]!r}: write a name of 1 to 300 characters")
    if kind == "metric" and not _METRIC.fullmatch(name):
        raise ScopeError(
            f"metric {name[:80]!r}: write the name of a metric as in PCP, such as "
            f"mem.util.free, or a prefix that ends with {WILDCARD}, such as mem.util.*"
        )
    if kind == "job" and "/" in name:
        raise ScopeError(
            f"job {name[:80]!r}: write the scheduler's number only, such as 4711; the "
            "twin does not tell clusters apart, so name the hosts as well"
        )


def is_scope(value: Any) -> bool:
    """Whether a value of a file is a scope as it was written."""
    if not isinstance(value, dict) or not value.keys() <= KINDS.keys():
        return False
    for names in value.values():
        if not isinstance(names, list) or not names:
            return False
        if not all(isinstance(name, str) for name in names):
            return False
    try:
        return bool(read_scope(value)) == bool(value)
    except UserError:
        return False
