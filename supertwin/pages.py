"""The pages under docs/ that are generated from the code or its data."""

import io
from collections.abc import Iterator
from pathlib import Path

import click

from core.settings.settings import Settings
from queries.catalogue import SavedQuery, load_catalogue
from supertwin.cli.queries import SavedQueries
from supertwin.error_page import error_page
from supertwin.role_page import role_page

GENERATED = "<!-- written by `make docs` -->\n"


def pages(root: click.Group) -> dict[str, str]:
    """File name → text of every generated page."""
    return {
        "settings.md": _settings(),
        "queries.md": _queries(),
        "commands.md": _commands(root),
        "roles.md": f"{GENERATED}{role_page()}",
        "errors.md": f"{GENERATED}{error_page()}",
    }


def write_pages(folder: Path, root: click.Group) -> list[Path]:
    """Write every generated page; return the files."""
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
    for name, field in Settings.fields.items():
        has_none = callable(field.default) or field.default is None
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
Parameters are bound as RDF terms, never spliced into the text. Over HTTP a host that
is not given means every host. On the command line it means this host in a query about
a host, and every host in one about a fleet or about runs: each says which.
`--host ''` asks for every host.

## What cannot be decided

A twin does not tell everything of every host: a host from hwloc's XML has no CPU
features, one that was removed has no kind. A condition on what is not known is neither
true nor false. A query that leaves such hosts out answers "no" where nobody knows, so
`fleet/matching`, `fleet/drift`, `fleet/memory`, `inventory/cpu-flags`, `pmu/measurable`
and `observations/*` list them with a column that says so. Do the same in a query of
your own: ask apart whether the fact is known, let what is unknown pass the filter, and
select it.

```sparql
PREFIX st: <https://w3id.org/supertwin/ns#>
SELECT ?host (!?statesFlags AS ?undecided) WHERE {
  ?node a st:ComputeNode ; st:hostname ?host .
  { SELECT ?node (COUNT(?domain) AS ?domains) WHERE {
      GRAPH ?graph { ?node a st:ComputeNode . ?domain a st:NumaDomain }
    } GROUP BY ?node }
  FILTER (?domains > 2)
  BIND (EXISTS { ?any st:isPartOf ?node ; st:cpuFlag ?some } AS ?statesFlags)
  BIND (EXISTS { ?one st:isPartOf ?node ; st:cpuFlag "avx512f" } AS ?hasFlag)
  FILTER (?hasFlag || !?statesFlags)
}
```

`supertwin query fleet/matching --numa 3 --flag avx512f` asks this.

"""


def _query(saved: SavedQuery) -> str:
    lines = [f"## `{saved.name}`", "", f"**{saved.title}.** {saved.description}", ""]
    if saved.params:
        lines += ["| parameter | type | default | |", "|---|---|---|---|"]
        for param in saved.params.values():
            default = "" if param.default is None else f"`{param.default}`"
            about = " ".join(param.description.split())
            if param.name == "host":
                about += "" if param.everywhere else "; on the command line this host"
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
