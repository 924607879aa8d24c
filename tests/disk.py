"""A small file system that can really be full; root is not needed."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.servers import ENDS_WITH_US

_MOUNT = 'mount -t tmpfs -o "size=$2" none "$1" && echo mounted && exec sleep 3600'


@contextmanager
def small_disk(folder: Path, kib: int) -> Iterator[Path]:
    """Mount a disk of this size in the mount namespace of a separate process."""
    folder.mkdir(parents=True)
    words = [*ENDS_WITH_US, "unshare", "--mount"]
    if os.geteuid() != 0:
        words.append("--map-root-user")
    mount = ["sh", "-c", _MOUNT, "sh", str(folder), f"{kib}k"]
    with subprocess.Popen([*words, *mount], stdout=subprocess.PIPE) as holder:
        try:
            assert holder.stdout
            assert holder.stdout.readline() == b"mounted\n"
            yield Path(f"/proc/{holder.pid}/root{folder}")
        finally:
            holder.kill()


def fill(folder: Path, leave: int = 0) -> Path:
    """Fill a disk except for some bytes; return the file that fills it."""
    path = folder / "filler"
    with path.open("ab", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while file.write(b"x" * size):
                    pass
            except OSError:
                continue
    os.truncate(path, max(path.stat().st_size - leave, 0))
    return path
