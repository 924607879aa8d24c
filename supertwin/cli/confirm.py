"""Commands that delete permanently ask first, or take ``--yes``."""

import sys

import click

YES_OPTION = click.option("--yes", is_flag=True, help="Do not ask.")


def confirm_removal(what: str, yes: bool) -> None:
    """Ask whether to remove something permanently.

    Raises click.UsageError without a terminal, click.Abort if the answer is no.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError(f"this removes {what} permanently: give --yes")
    click.confirm(f"Remove {what} permanently?", abort=True, err=True)
