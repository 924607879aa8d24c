"""What install.sh says is left out, and how it recognises what is there."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.servers import ROOT

_SAY = (
    "source tests/install.sh; say_what_is_missing; missing_for_run; missing_for_tests"
)


@pytest.mark.parametrize(("machine", "lines"), [("x86_64", 0), ("aarch64", 1)])
def test_one_line_names_what_is_not_installed(
    tmp_path: Path, machine: str, lines: int
) -> None:
    """A fake `uname` in PATH names the architecture; nothing is installed."""
    uname = tmp_path / "uname"
    uname.write_text(f"#!/bin/sh\necho {machine}\n", "utf-8")
    uname.chmod(0o755)
    done = subprocess.run(
        ["bash", "-c", f"PATH={tmp_path}:$PATH; {_SAY}"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    output = [line for line in done.stdout.splitlines() if line.startswith("install: ")]
    assert len(output) == lines
    assert all("aarch64 has no cpuid and no likwid" in line for line in output)
    wanted = done.stdout.splitlines()[lines:]
    if machine == "aarch64":
        assert not {"cpuid", "likwid"} & {*wanted}


def test_options_for_every_java_do_not_hide_its_version() -> None:
    """Java then prints a note before its version (tests/conftest.py sets some)."""
    assert os.environ["JDK_JAVA_OPTIONS"]
    command = ["bash", "-c", "source tests/install.sh; has_java"]
    subprocess.run(command, cwd=ROOT, check=True, timeout=60)
