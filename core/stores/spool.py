"""Bytes that arrive in parts and are read again once all are there."""

import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO

from anyio import to_thread

from core.errors import DISK_FULL, DiskFullError, FileError, error_code

MEMORY = 4 * 1024 * 1024
_PART = 256 * 1024


class Spool:
    """Keeps up to MEMORY bytes in memory, and more of them in a file in a folder.

    The file has no name, so it never outlives the process. Close the spool after use.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._memory: BytesIO | None = BytesIO()
        self._file: IO[bytes] | None = None
        self.size = 0

    @property
    def in_memory(self) -> bytes | None:
        """Everything, if it is not in a file."""
        return None if self._memory is None else self._memory.getvalue()

    async def write(self, part: bytes) -> None:
        """Add a part; raises DiskFullError or FileError."""
        self.size += len(part)
        if self._memory is None or self.size > MEMORY:
            await to_thread.run_sync(self._write_to_file, part)
        else:
            self._memory.write(part)

    def _write_to_file(self, part: bytes) -> None:
        with self._named_errors():
            if self._memory is not None:
                self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115
                self._file.write(self._memory.getvalue())
                self._memory = None
            assert self._file  # noqa: S101
            self._file.write(part)

    async def parts(self) -> AsyncIterator[bytes]:
        """Read everything from the start; raises FileError."""
        source = self._memory or self._file
        assert source  # noqa: S101
        with self._named_errors():
            await to_thread.run_sync(source.seek, 0)
            while part := await to_thread.run_sync(source.read, _PART):
                yield part

    def clear(self) -> None:
        """Forget everything."""
        self.close()
        self._memory, self._file, self.size = BytesIO(), None, 0

    def close(self) -> None:
        """Remove the file; may be called again."""
        if self._file:
            self._file.close()

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            kind = DiskFullError if error_code(error) == DISK_FULL else FileError
            raise kind(f"{self._folder}: {error.strerror or error}") from None
