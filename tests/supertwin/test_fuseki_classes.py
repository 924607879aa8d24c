"""Fuseki's class archive is kept per Java and jar, and read when Fuseki starts."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.settings import tools
from supertwin.stack.fuseki_classes import make_archive
from tests.servers import Fuseki


@pytest.fixture(scope="module")
def jar(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Make a separate installation that holds an archive for another jar."""
    installed = tools.fuseki_jar()
    folder = tmp_path_factory.mktemp("tools")
    (folder / "fuseki").mkdir()
    (folder / "fuseki" / "classes-of-another.jsa").touch()
    jar = folder / "fuseki" / installed.name
    for one in (installed, tools.fuseki_extension()):
        (folder / "fuseki" / one.name).symlink_to(one.resolve())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tools, "TOOLS", folder)
        yield jar


@pytest.fixture(scope="module")
def archive(jar: Path) -> Path:
    return make_archive()


def test_one_class_archive_is_kept_next_to_the_jar(jar: Path, archive: Path) -> None:
    extension = tools.fuseki_extension()
    assert sorted(jar.parent.iterdir()) == [archive, jar, extension]
    assert archive == tools.fuseki_classes(tools.java())


def test_class_archive_is_created_once(archive: Path) -> None:
    before = archive.stat()
    make_archive()
    assert archive.stat() == before


def test_fuseki_uses_the_class_archive(archive: Path, tmp_path: Path) -> None:
    with Fuseki(tmp_path / "fuseki") as server:
        assert str(archive) in Path(f"/proc/{server.pid}/maps").read_text()
        assert "[cds]" not in server.output()


def test_class_archive_depends_on_java_and_jar(
    jar: Path, archive: Path, tmp_path: Path
) -> None:
    java = tmp_path / "java"
    java.touch()
    of_java = tools.fuseki_classes(java)
    os.utime(java, (1, 1))
    assert len({archive, of_java, tools.fuseki_classes(java)}) == 3
