"""The list of commands that other users may launch.

Each line of the file is one command as words, with the quoting of a shell, although no
shell runs it::

    # word for word
    /usr/bin/likwid-bench -t stream -w S0:100kB
    # one word that is not an option; any words at the end, options included
    /usr/bin/sleep *
    "/opt/my apps/solver" --steps * **

Separate lines allow variables, by name or by name and value, and folders with all that
is below them::

    env: OMP_NUM_THREADS OMP_PROC_BIND=close
    cwd: /scratch "/data/my runs"
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os.path import realpath
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from core.errors import UserError
from ingest.errors import ProbeSourceError
from ingest.sources.files import read_file

ONE, REST = "*", "**"
_ENV, _CWD = "env:", "cwd:"
_MOST_BYTES = 1024 * 1024
_NONE: Mapping[str, str] = MappingProxyType({})


class CommandListError(UserError):
    """A list of commands cannot be read."""

    code = "bad-command-list"


@dataclass(frozen=True)
class CommandList:
    """The commands of a list, each as words; an empty list allows none.

    ``env`` lists variables that may be added, as NAME or NAME=value, and ``cwd`` the
    folders that a command may start in or below. Links and ``..`` in a folder on this
    machine are resolved before the comparison.
    """

    commands: tuple[tuple[str, ...], ...]
    name: str
    env: frozenset[str] = frozenset()
    cwd: frozenset[str] = frozenset()

    def refusal(
        self,
        argv: Sequence[str],
        env: Mapping[str, str] = _NONE,
        cwd: str = "",
        is_here: bool = True,
    ) -> str:
        """Say why a command may not be launched; '' if it may.

        ``argv`` is executed word for word: a program that the list names by its path is
        allowed by that path only, and PATH is not searched. ``env`` is added to its
        environment, ``cwd`` is its folder, '' for the default one, and ``is_here`` says
        whether that folder is on this machine. The runner compares the folder again on
        its host.
        """
        of_env = filter(None, (self._of_variable(*one) for one in env.items()))
        return (
            self._of_command(argv) or next(of_env, "") or self._of_folder(cwd, is_here)
        )

    def _of_variable(self, name: str, value: str) -> str:
        if {name, f"{name}={value}"} & self.env:
            return ""
        known = any(one.startswith(f"{name}=") for one in self.env)
        what = " with this value" if known else ""
        return (
            f"the variable {name[:80]!r} is not allowed{what}: {self.name} lists those "
            f"that are (`{_ENV} NAME`)"
        )

    def _of_folder(self, cwd: str, is_here: bool) -> str:
        if not cwd:
            return ""
        path = realpath(cwd) if is_here and cwd.startswith("/") else cwd
        folders = set(map(realpath, self.cwd)) if is_here else self.cwd
        if _is_whole_path(path) and folders & set(_and_above(PurePosixPath(path))):
            return ""
        where = f", which is {path[:80]!r}," if path != cwd else ""
        return (
            f"the folder {cwd[:80]!r}{where} is not allowed: {self.name} lists those "
            f"that are (`{_CWD} PATH`)"
        )

    def _of_command(self, argv: Sequence[str]) -> str:
        if not argv:
            return "the command has no word: name a program"
        if any("\0" in word for word in argv):
            return f"{argv[0][:80]!r}: a word of a command cannot contain a null byte"
        if any(_matches(command, argv) for command in self.commands):
            return ""
        known = any(command[0] == argv[0] for command in self.commands)
        what = "with these words" if known else "as a program"
        name, lists = argv[0][:80], f"{self.name} lists the allowed commands"
        return f"{name!r} is not allowed {what}: {lists}"


def read_command_list(path: Path) -> CommandList:
    """Read a list from a file; raises CommandListError, and nothing is allowed then."""
    try:
        return parse_command_list(read_file(path, _MOST_BYTES).decode(), str(path))
    except ProbeSourceError as error:
        raise CommandListError(f"the list of commands {error}") from None
    except UnicodeDecodeError:
        raise CommandListError(f"{path} is not UTF-8: save it as UTF-8") from None


def parse_command_list(text: str, name: str) -> CommandList:
    """Parse a list; raises CommandListError, which names the line."""
    commands = []
    also: dict[str, set[str]] = {_ENV: set(), _CWD: set()}
    for number, line in enumerate(text.split("\n"), 1):
        try:
            # No comments at the end of a line: a # inside a word would truncate the
            # command.
            words = tuple(shlex.split("" if line.lstrip().startswith("#") else line))
        except ValueError as error:
            raise CommandListError(f"{name}, line {number}: {error}") from None
        if not words:
            continue
        if wrong := _wrong(words):
            raise CommandListError(f"{name}, line {number}: {wrong}")
        if words[0] in also:
            also[words[0]].update(words[1:])
        else:
            commands.append(words)
    env, cwd = also[_ENV], {str(PurePosixPath(one)) for one in also[_CWD]}
    return CommandList(tuple(commands), name, frozenset(env), frozenset(cwd))


def _wrong(words: Sequence[str]) -> str:
    first, *others = words
    if first == _ENV and not all(map(_is_variable, others)):
        return "write NAME or NAME=value; each variable has to be named"
    if first == _CWD and not all(map(_is_whole_path, others)):
        return "a folder is a path from /, without .. in it"
    if words[0] in (ONE, REST, ""):
        return "it allows every program: name one"
    if REST in words[:-1]:
        return f"{REST} stands for the rest, so it can only be the last word"
    return "a null byte: leave it out" if any("\0" in word for word in words) else ""


def _is_variable(word: str) -> bool:
    # No wildcards: some variables of a family name a library to be loaded.
    name = word.partition("=")[0]
    return bool(name) and ONE not in name


def _is_whole_path(word: str) -> bool:
    return word.startswith("/") and ".." not in PurePosixPath(word).parts


def _and_above(path: PurePosixPath) -> Iterator[str]:
    return map(str, (path, *path.parents))


def _matches(command: Sequence[str], argv: Sequence[str]) -> bool:
    if command[-1] == REST:
        command = command[:-1]
        argv = argv[: len(command)]
    return len(command) == len(argv) and all(map(_fits, command, argv))


def _fits(listed: str, word: str) -> bool:
    # An option could do more than the author of the list expects.
    return word == listed or (listed == ONE and not word.startswith("-"))
