"""Backups that differ from what `supertwin backup` wrote are refused, by name."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sampling.account.absence import COUNTED_FILE, RESTORED, AbsenceTracker
from supertwin.backup.manifest import MANIFEST, write_manifest
from tests.command_line import Done, run

QUAD = "<urn:a> <urn:b> <urn:c> <urn:g> .\n"


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    """Make a small backup without series."""
    folder = tmp_path / "backup"
    (folder / "state" / "access").mkdir(parents=True)
    (folder / "state" / "access" / "tokens.json").write_text("{}")
    for name in ("twin", "history"):
        (folder / f"{name}.nq").write_text(QUAD)
    write_manifest(folder, {"made": "2026-11-24", "host": "n1", "base": "http://n1"})
    return folder


def restore(backup: Path) -> Done:
    home = backup.with_name("home")
    done = run({"SUPERTWIN_HOME": str(home)}, "restore", str(backup))
    assert done.returncode == 0 or not [*home.glob("[!u]*")]
    return done


def test_complete_backup_is_restored(backup: Path) -> None:
    done = restore(backup)
    assert done.returncode == 0, done.stderr
    assert (backup.with_name("home") / "fuseki" / "twin" / "Data-0001").is_dir()


def test_restored_bridge_has_not_died(backup: Path) -> None:
    folder = backup / "state" / "bridge" / "hosts" / "n1"
    folder.mkdir(parents=True)
    AbsenceTracker(folder / COUNTED_FILE, 900.0).keep(1000.0, 5)
    write_manifest(backup, {})
    assert restore(backup).returncode == 0
    restored = backup.with_name("home") / folder.relative_to(backup / "state")
    absence = AbsenceTracker(restored / COUNTED_FILE, 1100.0).absence
    assert absence and absence.reason == RESTORED


def link_to_folder(path: Path) -> None:
    secret = path.parents[2] / "secret"
    secret.mkdir()
    (secret / "key").write_text("s3cret")
    path.symlink_to(secret)


def link_to_file(path: Path) -> None:
    path.symlink_to(path.parents[1] / "twin.nq")


@pytest.mark.parametrize("make", [os.mkfifo, link_to_folder, link_to_file])
def test_invalid_file_is_refused(backup: Path, make: Callable[[Path], None]) -> None:
    make(backup / "state" / "more")
    done = restore(backup)
    assert done.returncode == 2
    assert f"{backup}/state/more " in done.stderr and "[bad-backup]" in done.stderr
    assert len(done.stderr.splitlines()) <= 2


def test_pipe_as_a_manifest_is_refused(backup: Path) -> None:
    (backup / MANIFEST).unlink()
    os.mkfifo(backup / MANIFEST)
    done = restore(backup)
    assert done.returncode == 2 and "[bad-backup]" in done.stderr


@pytest.mark.parametrize("name", ["twin.nq", "history.nq"])
def test_dataset_must_be_in_the_manifest(backup: Path, name: str) -> None:
    (backup / name).unlink()
    write_manifest(backup, {})
    done = restore(backup)
    assert done.returncode == 2
    assert name in done.stderr and "[bad-backup]" in done.stderr


def test_line_that_is_not_n_quads_is_named(backup: Path) -> None:
    (backup / "twin.nq").write_text(QUAD + "x y\n")
    write_manifest(backup, {})
    done = restore(backup)
    assert done.returncode == 1
    wrong = f"{backup}/twin.nq was not loaded ([line: 2, col: 1 ] Expected BNode or IRI"
    assert wrong in done.stderr and "[restore-failed]" in done.stderr
