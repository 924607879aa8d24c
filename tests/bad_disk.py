"""A disk with blocks that cannot be read; it needs root and loop devices."""

import fcntl
import os
import shutil
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.servers import ENDS_WITH_US

_MIB = 1 << 20
_WHERE_IS_BLOCK = 1  # FIBMAP
_MAKE = ["mkfs.ext4", "-q", "-b", "1024", "-O", "^has_journal"]
_MOUNT = 'mount -o loop "$2" "$1" && echo mounted && exec sleep 3600'

needs_bad_disk = pytest.mark.skipif(
    os.geteuid() != 0
    or not Path("/dev/loop-control").exists()
    or shutil.which("mkfs.ext4") is None,
    reason="a disk with bad blocks needs root, loop devices and mkfs.ext4",
)


@dataclass(frozen=True)
class BadDisk:
    """A file system in a file, which is truncated to make blocks unreadable."""

    image: Path
    folder: Path

    def break_from(self, file: Path, at: int) -> None:
        """Make a file's block at this offset, and all later blocks, unreadable."""
        with file.open("rb") as opened:
            os.fsync(opened.fileno())
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            number = struct.pack("i", at // 1024)
            (block,) = struct.unpack(
                "i", fcntl.ioctl(opened.fileno(), _WHERE_IS_BLOCK, number)
            )
        shutil.copy(self.image, self._whole)
        os.truncate(self.image, block * 1024)

    def fix(self) -> None:
        """Make all blocks readable again."""
        start = self.image.stat().st_size
        with self._whole.open("rb") as whole, self.image.open("ab") as image:
            whole.seek(start)
            shutil.copyfileobj(whole, image)

    @property
    def _whole(self) -> Path:
        return self.image.with_name("whole")


@contextmanager
def bad_disk(place: Path) -> Iterator[BadDisk]:
    """Mount an intact disk of 16 MiB in the mount namespace of a separate process."""
    folder, image = place / "disk", place / "image"
    folder.mkdir(parents=True)
    image.touch()
    os.truncate(image, 16 * _MIB)
    subprocess.run([*_MAKE, str(image)], check=True)
    words = [*ENDS_WITH_US, "unshare", "--mount"]
    mount = ["sh", "-c", _MOUNT, "sh", str(folder), str(image)]
    with subprocess.Popen([*words, *mount], stdout=subprocess.PIPE) as holder:
        try:
            assert holder.stdout
            assert holder.stdout.readline() == b"mounted\n"
            # The file system's own data and its first files are at the front.
            root = Path(f"/proc/{holder.pid}/root{folder}")
            (root / "padding").write_bytes(bytes(8 * _MIB))
            yield BadDisk(image, root)
        finally:
            holder.kill()
