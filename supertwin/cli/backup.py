"""`supertwin backup` and `restore`: save the whole state to a folder and back."""

from pathlib import Path

import click

from core.linux.private_folder import keep_files_private
from core.settings.settings import Settings
from supertwin.cli.parameters import NonEmptyPath

_FOLDER = NonEmptyPath(file_okay=False)


@click.command("backup")
@click.argument("folder", metavar="DIR", type=_FOLDER)
def backup_command(folder: Path) -> None:
    """Copy the state of the running stack into the new folder DIR.

    The copy has both datasets as N-Quads, all series, plans, tokens, records of runs
    and the points that wait to be sent. Sampling continues during the backup.
    """
    from supertwin.backup.make import make_backup

    keep_files_private()
    files = make_backup(Settings(), folder.absolute(), _progress)
    click.echo(f"{folder} holds {files} files and their checksums")


@click.command("restore")
@click.argument("folder", metavar="DIR", type=_FOLDER)
def restore_command(folder: Path) -> None:
    """Restore the backup in DIR into an empty state folder; the stack must be down."""
    from supertwin.backup.restore import restore_backup

    settings = Settings()
    keep_files_private()
    manifest = restore_backup(settings, folder, _progress)
    for name in ("host", "base"):
        if manifest.get(name) != getattr(settings, name):
            _progress(
                f"the backup has another {name}: set SUPERTWIN_{name.upper()}="
                f"{manifest.get(name)} before `supertwin up`"
            )
    click.echo(f"{settings.home} is as of {manifest.get('made')}: `supertwin up`")


def _progress(line: str) -> None:
    click.echo(line, err=True)
