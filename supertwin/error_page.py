"""The page of the codes of all errors, from the code that raises them."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from api.problems import BAD_REQUEST, INVALID, TITLES, UNKNOWN_PATH, WRONG_METHOD
from core.errors import (
    DISK_FULL,
    FAILED,
    FILE_ERROR,
    INTERNAL,
    USER_CAN_FIX,
    ApiError,
    BadQueryError,
    DiskFullError,
    FileError,
    NotFoundError,
    SuperTwinError,
)
from core.settings.home import CHECKOUT
from supertwin.cli.main import BAD_USAGE

# Folders whose errors a user may see.
_FOLDERS = (
    *("core", "shapes", "queries", "pinning", "dashboards", "ingest", "dtdl"),
    *("sampling", "sampler_bridge", "observations", "benchmarks", "api", "supertwin"),
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


@dataclass(frozen=True)
class Occurrence:
    """One meaning of a code, with the statuses that it has there."""

    code: str
    meaning: str
    exit_code: int
    status: int | None


# Errors that are not exceptions of ours. A file that does not exist has exit status 2.
_OTHERS = (
    Occurrence(DISK_FULL, DiskFullError.title, FAILED, 502),
    Occurrence(FILE_ERROR, FileError.title, FAILED, 502),
    Occurrence(FILE_ERROR, FileError.title, USER_CAN_FIX, 502),
    Occurrence(INTERNAL, TITLES[INTERNAL], FAILED, 500),
    Occurrence(
        BAD_USAGE,
        "Arguments or options that the command does not take",
        USER_CAN_FIX,
        None,
    ),
    Occurrence(INVALID, TITLES[INVALID], USER_CAN_FIX, 422),
    Occurrence(UNKNOWN_PATH, TITLES[UNKNOWN_PATH], USER_CAN_FIX, 404),
    Occurrence(WRONG_METHOD, TITLES[WRONG_METHOD], USER_CAN_FIX, 405),
    Occurrence(BAD_REQUEST, TITLES[BAD_REQUEST], USER_CAN_FIX, 400),
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
            yield Occurrence(kind.code, kind.title, exits, status)
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


def _given_in(
    tree: ast.Module, kinds: Mapping[str, type[SuperTwinError]]
) -> Iterator[Occurrence]:
    """The codes that calls in a module give to an answer of the API."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                ast.Name("api_error"),
                [ast.Call(ast.Name(name)), ast.Constant(int(status))],
            ) if name in kinds:
                yield _of_error(kinds[name], status)
            case ast.Call(ast.Name(name), found) if name in kinds:
                given = [_value(one, kinds) for one in found]
                yield from _of_answer(kinds[name], given)


def _of_error(kind: type[SuperTwinError], status: int) -> Occurrence:
    """The code of an error that the API answers with another status."""
    return Occurrence(kind.code, kind.title, _exit_code(status), status)


def _of_answer(
    kind: type[SuperTwinError], given: Sequence[object]
) -> Iterator[Occurrence]:
    """The code among the arguments: status, code and title, or the last two."""
    status = _STATUSES.get(kind)
    match [*[None] * bool(status), *given][:3]:
        case [number, str(code), title] if issubclass(kind, ApiError):
            status = number if isinstance(number, int) else status
            yield Occurrence(code, str(title or ""), _exit_code(status or 400), status)


def _value(node: ast.expr, kinds: Mapping[str, type[SuperTwinError]]) -> object:
    """A constant, or the code or title of a class; None for anything else."""
    match node:
        case ast.Constant(value):
            return value
        case ast.Attribute(ast.Name(name), attribute) if name in kinds:
            return getattr(kinds[name], attribute)
    return None


def _exit_code(status: int) -> int:
    return USER_CAN_FIX if status < 500 else FAILED


def _row(code: str, found: Sequence[Occurrence]) -> str:
    exits = sorted({one.exit_code for one in found})
    statuses = sorted({one.status for one in found if one.status})
    return f"| `{code}` | {found[0].meaning} | {_list(exits)} | {_list(statuses)} |\n"


def _list(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
