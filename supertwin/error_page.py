"""The page of the codes of all errors, from the code that raises them."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from api.problems import BAD_REQUEST, INVALID, UNKNOWN_PATH, WRONG_METHOD
from core.errors import (
    DISK_FULL,
    FAILED,
    FILE_ERROR,
    INTERNAL,
    USER_CAN_FIX,
    ApiError,
    BadQueryError,
    NotFoundError,
    SuperTwinError,
)
from core.settings.home import CHECKOUT
from supertwin.cli.main import BAD_USAGE

# Folders whose errors a user may see.
_FOLDERS = (
    *("core", "shapes", "queries", "pinning", "dashboards", "ingest", "dtdl"),
    *("sampling", "sampler_bridge", "observations", "api", "supertwin"),
)
_INTRODUCTION = """# Error codes

Every error has a code that does not change. On the command line it ends the line in
brackets: `supertwin: no host 'n9': the twin has n1 [unknown-host]`. In the API it is
the last part of the problem's `type`:
`https://w3id.org/supertwin/problem/unknown-host`. The same failure has the same code in
both. Scripts test the code; the text may change.

Exit status 2 means that the user can fix it, 1 that something failed. The HTTP status
is that of a request that fails for this reason.

| code | means | exit status | HTTP status |
|---|---|---|---|
"""
# Classes whose instances have no status among their arguments.
_STATUSES = {NotFoundError: 404, BadQueryError: 400}
# Of codes whose class or title does not say what they mean.
MEANINGS = {
    "alias-exists": "Another host has this name or alias",
    "backup-exists": "The folder for a backup exists",
    "bad-cgroup-list": "A pattern of cgroups, or the list of cgroups, cannot be read",
    "bad-observation": "The request for a run contradicts itself or cannot be read",
    "body-too-large": "The body of the request is too large",
    "bridge-broken": "A part of the bridge broke",
    "export-failed": "A store was unreachable while a run was exported",
    "no-address": "No ssh address of the host is known",
    "not-running": "The stack does not run",
    "plan-exists": "The host has a plan of this name",
    "plan-removed": "The plan was removed while it was added",
    "port-taken": "Another process listens at a port of the stack",
    "run-active": "The run has not ended",
    "run-in-baseline": "The run belongs to a baseline",
    "plan-too-costly": "The plan costs more than may be added without consent",
    "token-exists": "A token has this name",
    "token-refused": "The token is not of this installation, expired or was revoked",
    "too-many-streams": "Too many live streams are open",
    "unknown-baseline": "No baseline has this name",
    "not-countable": "A host's PMUs cannot count what is asked for",
}


@dataclass(frozen=True)
class Occurrence:
    """One meaning of a code, with the statuses that it has there."""

    code: str
    meaning: str
    exit_code: int
    status: int | None


# Errors that are not exceptions of ours. A file that does not exist has exit status 2.
_FILE = "A file cannot be read or written"
_OTHERS = (
    Occurrence(DISK_FULL, "A disk is full", FAILED, 502),
    Occurrence(FILE_ERROR, _FILE, FAILED, 502),
    Occurrence(FILE_ERROR, _FILE, USER_CAN_FIX, 502),
    Occurrence(INTERNAL, "A fault in SuperTwin: please report it", FAILED, 500),
    Occurrence(
        BAD_USAGE,
        "Arguments or options that the command does not take",
        USER_CAN_FIX,
        None,
    ),
    Occurrence(
        INVALID, "The request does not fit the OpenAPI document", USER_CAN_FIX, 422
    ),
    Occurrence(UNKNOWN_PATH, "Nothing is served at this path", USER_CAN_FIX, 404),
    Occurrence(WRONG_METHOD, "The path does not take the method", USER_CAN_FIX, 405),
    Occurrence(BAD_REQUEST, "The request cannot be read", USER_CAN_FIX, 400),
)


def error_page() -> str:
    """Markdown of a table of all codes."""
    found: dict[str, list[Occurrence]] = {}
    for one in all_occurrences():
        found.setdefault(one.code, []).append(one)
    return _INTRODUCTION + "".join(_row(code, found[code]) for code in sorted(found))


def all_occurrences() -> Iterator[Occurrence]:
    """All codes: of classes, of places that give their own, and of other errors."""
    for kind in error_classes():
        if "code" in vars(kind):
            status = kind.status
            exits = _exit_code(status) if issubclass(kind, ApiError) else kind.exit_code
            meaning = MEANINGS.get(kind.code) or _first_sentence(kind)
            yield Occurrence(kind.code, meaning, exits, status)
    yield from _OTHERS
    kinds = {kind.__name__: kind for kind in error_classes()}
    for path in _sources():
        yield from _given_in(ast.parse(path.read_text("utf-8")), kinds)


def error_classes() -> list[type[SuperTwinError]]:
    """The root of all errors and its subclasses in the program."""
    for path in _sources():
        if path.name != "__main__.py":
            name = path.relative_to(CHECKOUT).with_suffix("").as_posix()
            import_module(name.replace("/", ".").removesuffix(".__init__"))
    # A class with two roots is found twice.
    return [kind for kind in dict.fromkeys(_below(SuperTwinError)) if _is_ours(kind)]


def _below(kind: type[SuperTwinError]) -> Iterator[type[SuperTwinError]]:
    yield kind
    for one in kind.__subclasses__():
        yield from _below(one)


def _is_ours(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in _FOLDERS


def _sources() -> list[Path]:
    return sorted(path for one in _FOLDERS for path in (CHECKOUT / one).rglob("*.py"))


def _first_sentence(kind: type) -> str:
    first = (kind.__doc__ or "").strip().split("\n\n")[0]
    return " ".join(first.split()).removesuffix(".")


def _given_in(
    tree: ast.Module, kinds: Mapping[str, type[SuperTwinError]]
) -> Iterator[Occurrence]:
    """The codes that calls in a module give to an error."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            kind = kinds.get(node.func.id)
            if kind and issubclass(kind, ApiError):
                yield from _of_answer(node, kind)
            elif kind:
                yield from _of_keyword(node, kind)


def _of_answer(call: ast.Call, kind: type[ApiError]) -> Iterator[Occurrence]:
    """The code among the arguments: status, code and title, or the last two."""
    status = _STATUSES.get(kind)
    values = [None] * bool(status) + [_constant(one) for one in call.args]
    match values[:3]:
        case [number, str(code), title]:
            status = number if isinstance(number, int) else status
            meaning = MEANINGS.get(code) or str(title or "")
            yield Occurrence(code, meaning, _exit_code(status or 400), status)


def _of_keyword(call: ast.Call, kind: type[SuperTwinError]) -> Iterator[Occurrence]:
    for keyword in call.keywords:
        code = _constant(keyword.value)
        if keyword.arg == "code" and isinstance(code, str):
            meaning = MEANINGS.get(code, "")
            yield Occurrence(code, meaning, kind.exit_code, kind.status)


def _constant(node: ast.expr) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def _exit_code(status: int) -> int:
    return USER_CAN_FIX if status < 500 else FAILED


def _row(code: str, found: Sequence[Occurrence]) -> str:
    meaning = next((one.meaning for one in found if one.meaning), "")
    exits = sorted({one.exit_code for one in found})
    statuses = sorted({one.status for one in found if one.status})
    return f"| `{code}` | {meaning} | {_list(exits)} | {_list(statuses)} |\n"


def _list(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
