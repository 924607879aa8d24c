"""Commands that srun starts."""

from pathlib import Path

import click

_BOOT = Path("/proc/sys/kernel/random/boot_id")


def srun_words(srun: str | None) -> list[str]:
    """Return the command that starts a task by srun; nothing without options."""
    if srun is None:
        return []
    import shlex
    from shutil import which

    try:
        words = shlex.split(srun)
    except ValueError as error:
        raise click.BadParameter(f"--srun {srun!r} cannot be parsed: {error}") from None
    if which("srun") is None:
        raise click.UsageError("no srun on PATH: install Slurm, or load its module")
    return ["srun", *words, "--ntasks=1"]


def boot_id() -> str:
    """Return the id of this machine's boot: no other machine has it."""
    return _BOOT.read_text().strip()
