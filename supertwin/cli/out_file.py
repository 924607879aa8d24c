"""Write a command's result to standard output, or atomically to a file."""

import os
from collections.abc import Iterable
from pathlib import Path

import click


def hand_out(text: str, out: Path | None, message: str) -> None:
    """Print a text, or write it to the named file and print a message."""
    if out is None:
        click.echo(text, nl=False)
    else:
        write_whole(out, text)
        click.echo(message, err=True)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file completely or not at all.

    A device or a pipe is written directly; for a link, the target is replaced.
    """
    whole = content.encode() if isinstance(content, str) else content
    write_parts(path, [whole])


def write_parts(path: Path, parts: Iterable[bytes]) -> None:
    """Write the parts of a file as `write_whole` does, without holding them all."""
    path = path.resolve()
    if path.exists() and not path.is_file() and not path.is_dir():
        _write(path, parts)
        return
    if path.is_dir() or not path.parent.is_dir():
        raise click.UsageError(f"--out {path}: give a file in a folder that exists")
    # A short name: the given name may already have the maximum length.
    partial = path.with_name(f".{os.getpid()}.partial")
    try:
        _write(partial, parts)
        partial.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        partial.unlink(missing_ok=True)


def _write(path: Path, parts: Iterable[bytes]) -> None:
    with path.open("wb") as file:
        for part in parts:
            file.write(part)
