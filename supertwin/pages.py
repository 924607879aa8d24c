"""The pages under docs/ that are generated from the code or its data."""

import io
from collections.abc import Iterator
from pathlib import Path

import click

from api.web.built_pages import BUILT
from core.settings.settings import Settings
from queries.questions import questions_page
from supertwin.cli.queries import SavedQueries
from supertwin.error_page import error_page

GENERATED = "<!-- written by `make docs` -->\n"


def pages(root: click.Group) -> dict[str, str]:
    """File name → text of every generated page.

    The repository keeps settings and commands, which are read before SuperTwin is
    installed; git ignores the others.
    """
    return {
        "settings.md": _settings(),
        "commands.md": _commands(root),
        "errors.md": f"{GENERATED}{error_page()}",
        "questions.md": f"{GENERATED}{questions_page()}",
        **{name: f"{GENERATED}{page()}" for name, page in BUILT.items()},
    }


def write_pages(folder: Path, root: click.Group) -> list[Path]:
    """Write every generated page; return the files."""
    written = []
    for name, text in pages(root).items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
        written.append(path)
    return written


def _settings() -> str:
    out = io.StringIO()
    out.write(
        f"{GENERATED}# Settings\n\nEnvironment variables; each has a default.\n\n"
    )
    out.write("| variable | default | what it sets |\n|---|---|---|\n")
    for name, field in Settings.fields.items():
        has_none = callable(field.default) or field.default is None
        default = "" if has_none else str(field.default)
        shown = (
            f"`{default}`" if default else "this machine's" if name == "host" else ""
        )
        out.write(f"| `SUPERTWIN_{name.upper()}` | {shown} | {field.description} |\n")
    return out.getvalue()


def _commands(root: click.Group) -> str:
    parts = [f"{GENERATED}# Commands\n", f"```\n{_help('', root)}\n```\n"]
    parent = click.Context(root)
    for name in root.list_commands(parent):
        if command := root.get_command(parent, name):
            parts += _command(name, command)
            for inner, below in _below(command):
                parts += _command(f"{name} {inner}", below)
    return "\n".join(parts)


def _below(command: click.Command) -> Iterator[tuple[str, click.Command]]:
    """The commands of a group, except saved queries, which have their own page."""
    context = click.Context(command)
    if isinstance(command, click.Group) and not isinstance(command, SavedQueries):
        for name in command.list_commands(context):
            if found := command.get_command(context, name):
                yield name, found


def _command(name: str, command: click.Command) -> list[str]:
    return [f"## `supertwin {name}`\n\n```\n{_help(name, command)}\n```\n"]


def _help(name: str, command: click.Command) -> str:
    """The output of --help, without saved queries: they have their own page."""
    context = click.Context(
        command,
        info_name=f"supertwin {name}".rstrip(),
        terminal_width=80,
        max_content_width=80,
    )
    return command.get_help(context).partition("\nCommands:")[0].rstrip()
