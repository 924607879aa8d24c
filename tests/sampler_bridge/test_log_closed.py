"""A closed log: nothing more is written to it, and no file stays open."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

from sampler_bridge.errors import NotLoggedError
from sampler_bridge.log.log import Log
from tests.sampler_bridge.wire import rows_of

LARGE = 10**9


def open_files() -> list[Path]:
    """Open files of this process; non-files have names such as `pipe:[1]`."""
    found = []
    for link in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the descriptor of the listed folder itself
            found.append(link.readlink())
    return found


def test_closed_log_takes_no_record(tmp_path: Path) -> None:
    log = Log(tmp_path, LARGE)
    log.append(0, rows_of("a", 0))
    log.close()
    (file,) = tmp_path.iterdir()
    content = file.read_bytes()
    with pytest.raises(NotLoggedError, match="it is closed") as raised:
        log.append(1, rows_of("a", 1))
    assert raised.value.dropped == 0
    assert log.failure is None  # the disk is not at fault
    assert [file] == list(tmp_path.iterdir()) and file.read_bytes() == content
    assert log.waiting == 1
    log.close()


@pytest.mark.parametrize("appended", range(1, 200, 10))
def test_appending_during_close_leaves_nothing_behind(
    tmp_path: Path, appended: int
) -> None:
    log = Log(tmp_path, LARGE, segment_bytes=300)
    under_way, until = threading.Event(), time.monotonic() + 120

    def append() -> int:
        for tick in count():
            try:
                log.append(tick, rows_of("a", tick))
            except NotLoggedError:
                return tick
            if tick == appended:
                under_way.set()
            assert time.monotonic() < until, "it is still written to"
        return 0

    with ThreadPoolExecutor(1) as pool:
        appending = pool.submit(append)
        assert under_way.wait(120)
        log.close()
        files = sorted(tmp_path.iterdir())
        taken = appending.result()
    assert sorted(tmp_path.iterdir()) == files
    assert all(file.stat().st_size for file in files)
    assert not [path for path in open_files() if path.parent == tmp_path]
    assert Log(tmp_path, LARGE).waiting == taken > appended
