"""Which commands may be launched for others: a list, where there is one.

A file of lines, each a command as words, quoted as in a shell that is never asked::

    # word for word
    /usr/bin/likwid-bench -t stream -w S0:100kB
    # one word that is no option; any words at the end, options included
    /usr/bin/sleep *
    "/opt/my apps/solver" --steps * **
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ingest.errors import SourceError
from ingest.sources.files import read_file
from supertwin.errors import MendableError

ONE, REST = "*", "**"
_MOST_BYTES = 1024 * 1024


class CommandListError(MendableError):
    """A list of commands that cannot be read."""


@dataclass(frozen=True)
class CommandList:
    """The commands of a list, each as words; an empty list allows none."""

    commands: tuple[tuple[str, ...], ...]
    name: str

    def refusal(self, argv: Sequence[str]) -> str:
        """Why a command may not be launched, '' when it may.

        ``argv`` is what would be executed, word for word: a program that the list names
        by its path is allowed by that path alone, and nothing is looked up.
        """
        if not argv:
            return "the command has no word: name a program"
        if any("\0" in word for word in argv):
            return f"{argv[0][:80]!r}: no word of a command can hold a null byte"
        if any(_matches(command, argv) for command in self.commands):
            return ""
        known = any(command[0] == argv[0] for command in self.commands)
        what = "with these words" if known else "as a program"
        return f"{argv[0][:80]!r} is not allowed {what}: {self.name} lists what is"


def read_command_list(path: Path) -> CommandList:
    """The list that a file holds; raises CommandListError, and then allows nothing."""
    try:
        return parse_command_list(read_file(path, _MOST_BYTES).decode(), str(path))
    except SourceError as error:
        raise CommandListError(f"the list of commands {error}") from None
    except UnicodeDecodeError:
        raise CommandListError(f"{path} is not UTF-8: write it so") from None


def parse_command_list(text: str, name: str) -> CommandList:
    """The list that a text holds; raises CommandListError, naming the line."""
    commands = []
    for number, line in enumerate(text.split("\n"), 1):
        try:
            # No comments at the end: a # within a word would cut the command short.
            words = tuple(shlex.split("" if line.lstrip().startswith("#") else line))
        except ValueError as error:
            raise CommandListError(f"{name}, line {number}: {error}") from None
        if not words:
            continue
        if wrong := _wrong(words):
            raise CommandListError(f"{name}, line {number}: {wrong}")
        commands.append(words)
    return CommandList(tuple(commands), name)


def _wrong(words: Sequence[str]) -> str:
    if words[0] in (ONE, REST, ""):
        return "it allows every program: name one"
    if REST in words[:-1]:
        return f"{REST} stands for the rest, so it can only be the last word"
    return "a null byte: leave it out" if any("\0" in word for word in words) else ""


def _matches(command: Sequence[str], argv: Sequence[str]) -> bool:
    if command[-1] == REST:
        command = command[:-1]
        argv = argv[: len(command)]
    return len(command) == len(argv) and all(map(_fits, command, argv))


def _fits(listed: str, word: str) -> bool:
    # What looks like an option would say more than the list's author foresaw.
    return word == listed or (listed == ONE and not word.startswith("-"))
