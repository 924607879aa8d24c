"""Missing, failing, hanging or flooding tools each give one clear line."""

import time
from pathlib import Path

import pytest

from ingest.errors import (
    MalformedSourceError,
    SourceMissingError,
    SourceRefusedError,
)
from ingest.sources import tool
from ingest.sources.tool import run_tool


def script(folder: Path, name: str, body: str) -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def test_output_of_a_tool_is_returned() -> None:
    assert run_tool(["printf", "a\\nb"], "coreutils", 5) == b"a\nb"


def test_tools_run_in_the_c_locale(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HWLOC_SYNTHETIC", "pu:7")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    names = [line.split(b"=")[0] for line in run_tool(["env"], "coreutils", 5).split()]
    assert sorted(names) == [b"LC_ALL", b"PATH"]


def test_missing_tool_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SourceMissingError) as caught:
        run_tool(["lshw", "-json"], "lshw", 5)
    assert str(caught.value) == "lshw is not installed: apt-get install lshw"


def test_tool_that_cannot_run_is_reported(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF nothing")
    broken.chmod(0o755)
    with pytest.raises(SourceRefusedError, match="Exec format error"):
        run_tool([str(broken)], "lshw", 5)


def test_tool_that_fails_is_quoted(tmp_path: Path) -> None:
    path = script(tmp_path, "fails", "echo first >&2; echo 'no topology' >&2; exit 3")
    with pytest.raises(SourceRefusedError) as caught:
        run_tool([path, "-x"], "hwloc-nox", 5)
    assert "status 3 (no topology)" in str(caught.value)
    assert f"`{path} -x`" in str(caught.value)


@pytest.mark.parametrize("closed", ["", "exec >&- 2>&-;"], ids=["open", "closed"])
def test_hanging_tool_is_ended_with_its_children(tmp_path: Path, closed: str) -> None:
    noted = tmp_path / "child"
    path = script(tmp_path, "hangs", f"{closed} sleep 60 & echo $! > {noted}; wait")
    # Use a longer timeout if the tool was held up until after the timeout.
    for seconds in (0.3, 3.0, 30.0):
        with pytest.raises(
            SourceRefusedError, match=f"did not finish within {seconds:g} s"
        ):
            run_tool([path], "lshw", seconds)
        if noted.exists() and noted.read_text():
            break
    assert _ended(int(noted.read_text()))


def _ended(pid: int) -> bool:
    for _ in range(6000):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        # There may be no process to reap it.
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


def test_endless_output_of_a_tool_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool, "MAX_OUTPUT", 1 << 20)
    with pytest.raises(MalformedSourceError, match="more than 1 MiB"):
        run_tool(["yes"], "coreutils", 10)


def test_no_file_stays_open() -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    run_tool(["true"], "coreutils", 5)
    with pytest.raises(SourceRefusedError):
        run_tool(["sleep", "9"], "coreutils", 0.1)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
