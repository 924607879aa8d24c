"""Finds the agents of a PMCD by its pipes."""

import contextlib
from pathlib import Path

from core.linux.ports import open_files

_PREFIX = "pmda"


def agents(pmcd: int) -> dict[str, int]:
    """The agents of a PMCD, ``pmda…``, which hold the other ends of its pipes.

    The parent of an agent does not identify its PMCD: it may be the agent of another.
    """
    pipes = _pipes(Path(f"/proc/{pmcd}"))
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            name = (folder / "comm").read_text(encoding="utf-8").strip()
            if name.startswith(_PREFIX) and pipes & _pipes(folder):
                found[name] = int(folder.name)
    return found


def _pipes(folder: Path) -> set[str]:
    return {name for name in open_files(folder) if name.startswith("pipe:")}
