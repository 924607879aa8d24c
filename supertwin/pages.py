"""The pages under docs/ that are written from the code or from its data."""

import io
from pathlib import Path

import click

from queries.catalogue import SavedQuery, load_catalogue
from supertwin.role_page import role_page
from supertwin.settings import Settings

GENERATED = "<!-- written by `make docs` -->\n"


def pages(root: click.Group) -> dict[str, str]:
    """File name → text of every generated page."""
    return {
        "settings.md": _settings(),
        "queries.md": _queries(),
        "commands.md": _commands(root),
        "roles.md": f"{GENERATED}{role_page()}",
    }


def write_pages(folder: Path, root: click.Group) -> list[Path]:
    """Write every generated page; the answer lists the files."""
    written = []
    for name, text in pages(root).items():
        path = folder / name
        path.write_text(text, "utf-8")
        written.append(path)
    return written


def _settings() -> str:
    out = io.StringIO()
    out.write(
        f"{GENERATED}# Settings\n\nEnvironment variables; each has a default.\n\n"
    )
    out.write("| variable | default | what it sets |\n|---|---|---|\n")
    for name, field in Settings.model_fields.items():
        has_none = field.default_factory or field.default is None
        default = "" if has_none else str(field.default)
        shown = (
            f"`{default}`" if default else "this machine's" if name == "host" else ""
        )
        out.write(f"| `SUPERTWIN_{name.upper()}` | {shown} | {field.description} |\n")
    return out.getvalue()


def _queries() -> str:
    out = io.StringIO()
    out.write(f"{GENERATED}# Saved queries\n\n{_INTRODUCTION}")
    for saved in load_catalogue().values():
        out.write(_query(saved))
    return out.getvalue()


_INTRODUCTION = """Each is a command (`supertwin query NAME`), a URL
(`/queries/NAME`) and a file (`queries/NAME.rq`) that any SPARQL client runs as it is.
Parameters are bound as RDF terms, never spliced into the text. The command line fills
in this host, and takes `--host ''` for every host; queries of fleets and of runs ask
every host at once, and elsewhere a host that is not given always means every host.

"""


def _query(saved: SavedQuery) -> str:
    lines = [f"## `{saved.name}`", "", f"**{saved.title}.** {saved.description}", ""]
    if saved.params:
        lines += ["| parameter | type | default | |", "|---|---|---|---|"]
        for param in saved.params.values():
            default = "" if param.default is None else f"`{param.default}`"
            about = " ".join(param.description.split())
            if param.enum:
                about = f"{about}: {', '.join(map(str, param.enum))}".lstrip(": ")
            lines.append(f"| `{param.name}` | {param.type} | {default} | {about} |")
        lines.append("")
    if saved.dataset != "twin":
        lines += [f"Asks the dataset `{saved.dataset}`.", ""]
    columns = ", ".join(f"`{name}`" for name in saved.returns)
    return "\n".join([*lines, f"Answers: {columns}.", "", ""])


def _commands(root: click.Group) -> str:
    parts = [f"{GENERATED}# Commands\n", f"```\n{_help('', root)}\n```\n"]
    parent = click.Context(root)
    for name in root.list_commands(parent):
        if command := root.get_command(parent, name):
            parts += _command(name, command)
            for inner, below in getattr(command, "commands", {}).items():
                parts += _command(f"{name} {inner}", below)
    return "\n".join(parts)


def _command(name: str, command: click.Command) -> list[str]:
    return [f"## `supertwin {name}`\n\n```\n{_help(name, command)}\n```\n"]


def _help(name: str, command: click.Command) -> str:
    """What --help says, without the saved queries: they have a page of their own."""
    context = click.Context(
        command,
        info_name=f"supertwin {name}".rstrip(),
        terminal_width=80,
        max_content_width=80,
    )
    return command.get_help(context).partition("\nCommands:")[0].rstrip()
