"""`supertwin export profile`: the stacks of a run for other tools."""

from pathlib import Path

import click

from core.settings.settings import Settings
from observations.profiles.stored import FORMATS, read_profile
from supertwin.cli.out_file import write_whole
from supertwin.cli.parameters import TEXT, NonEmptyPath


@click.command("profile")
@click.argument("run", type=TEXT)
@click.option(
    "--format",
    "form",
    type=click.Choice([*FORMATS]),
    default="pprof",
    show_default=True,
    help="pprof: its gzip; folded: for flamegraph.pl; speedscope: its JSON.",
)
@click.option("--out", type=NonEmptyPath(), required=True, help="File to write.")
def export_profile(run: str, form: str, out: Path) -> None:
    """Write the stacks of a RUN that was observed with --profile."""
    id_ = run.rpartition("/")[2]
    found = read_profile(Settings().home, id_)
    write_whole(out, FORMATS[form](found))
    click.echo(f"{id_}: {found.profile.samples} stacks, {out}", err=True)
