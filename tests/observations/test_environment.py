"""The record of a command's program, libraries, scripts and environment."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from observations.environment import CommandEnvironment, read_elf

SH = Path("/bin/sh").resolve()


def test_program_libraries_and_kernel_are_recorded() -> None:
    env = {"PATH": os.environ["PATH"], "OMP_NUM_THREADS": "2", "HOME": "/root"}
    found = CommandEnvironment(
        ["sh"], {**env, "SLURM_JWT_TOKEN": "s"}, None, [0]
    ).whole()
    assert found["environment"] == {k: env[k] for k in ("OMP_NUM_THREADS", "PATH")}
    assert found["system"]["kernel"] == os.uname().release
    program = found["program"]
    assert program["path"] == str(SH)
    assert program["sha256"] == hashlib.sha256(SH.read_bytes()).hexdigest()
    output = subprocess.run(["ldd", SH], capture_output=True, text=True, check=True)
    libc = next(line for line in output.stdout.splitlines() if "libc.so" in line)
    assert os.path.realpath(libc.split()[2]) in program["libraries"]


def test_build_id_and_compilers_match_the_file_tool(tmp_path: Path) -> None:
    elf = read_elf(SH.read_bytes())
    assert elf is not None
    assert elf.loader == os.path.realpath(elf.loader) or Path(elf.loader).exists()
    assert elf.build_id is not None
    assert bytes.fromhex(elf.build_id) in SH.read_bytes()


def test_script_names_its_interpreter(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text("#!/usr/bin/env bash\ntrue\n")
    found = CommandEnvironment(["./run.sh"], {}, str(tmp_path), []).whole()
    assert found["program"]["interpreter"] == "/usr/bin/env bash"
    assert found["program"]["path"] == str(script)


@pytest.mark.parametrize("name", ["no-such-command", "/no/such", "."])
def test_unreadable_program_is_omitted(name: str) -> None:
    assert CommandEnvironment([name], {}, None, [4096]).whole()["program"] is None


@pytest.mark.parametrize("becomes", ["another", "nothing"])
def test_executed_program_is_recorded_even_if_replaced(
    tmp_path: Path, becomes: str
) -> None:
    solver, newer = tmp_path / "solver", tmp_path / "newer"
    shutil.copy(SH, solver)
    found = CommandEnvironment(["./solver"], {}, str(tmp_path), [])
    if becomes == "another":
        shutil.copy("/bin/true", newer)
        newer.replace(solver)
    else:
        solver.unlink()
    result = found.whole()["program"]
    same = CommandEnvironment([str(SH)], {}, None, []).whole()["program"]
    assert result["libraries"]
    assert result == {**same, "path": str(solver)}


def test_script_changed_during_the_run_has_no_digest(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text("#!/bin/sh\ntrue\n")
    found = CommandEnvironment(["./run.sh"], {}, str(tmp_path), [])
    script.write_text("#!/bin/sh\nfalse\n")
    assert found.whole()["program"].keys() == {"path", "bytes"}


def test_pipe_in_place_of_a_program_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "solver")
    found = CommandEnvironment(["./solver"], {}, str(tmp_path), [])
    assert found.whole()["program"] is None


def test_quick_facts_do_not_read_the_program() -> None:
    found = CommandEnvironment([str(SH)], {"LANG": "C"}, None, [0])
    soon, whole = found.facts(), found.whole()
    assert soon["program"] == {"path": str(SH), "bytes": SH.stat().st_size}
    assert soon == {**whole, "program": soon["program"]}
    assert soon["system"]["kernel"] == os.uname().release


def test_damaged_program_gives_no_facts(tmp_path: Path) -> None:
    content = SH.read_bytes()
    for length in (6, 40, 64, 200, len(content) // 2):
        read_elf(content[:length])
    assert read_elf(b"\x7fELF\x02\x01" + b"\xff" * 100) is None
    assert read_elf(b"text") is None
