"""The log file of one child, with a size limit."""

import os
import shutil
from pathlib import Path
from typing import IO

from core.linux.private_folder import make_private

_MAX_BYTES = 10 * 1024 * 1024
_TAIL_BYTES = 8192


class ChildLog:
    """``{folder}/{name}.log``; earlier content is in ``{name}.log.1``."""

    def __init__(self, folder: Path, name: str, max_bytes: int = _MAX_BYTES) -> None:
        self.path = folder / f"{name}.log"
        self._max_bytes = max_bytes
        self._begin = 0

    def open(self) -> IO[bytes]:
        """Open the log for a process that is about to start."""
        make_private(self.path.parent)
        self.bound()
        file = self.path.open("ab")
        self._begin = file.tell()
        return file

    def bound(self) -> None:
        """If the file is too large, move its content away; the writer continues."""
        if not self.path.exists() or self.path.stat().st_size <= self._max_bytes:
            return
        shutil.copyfile(self.path, self.path.with_suffix(".log.1"))
        # The writer appends (O_APPEND): its next line starts the emptied file.
        os.truncate(self.path, 0)
        self._begin = 0

    def error_line(self) -> str:
        """Return ``: `` and the last useful line since the start; empty without one."""
        with self.path.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(self._begin, end - _TAIL_BYTES))
            lines = file.read().decode(errors="replace").splitlines()
        telling = [line for line in lines if line.strip() and not _is_trace(line)]
        return f": {telling[-1].strip()}" if telling else ""


def _is_trace(line: str) -> bool:
    """Whether a line is part of a stack trace, which does not say what happened."""
    return line[0].isspace() or line.startswith(("goroutine ", "...", "\tat "))
