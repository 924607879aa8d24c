"""Damaged files of a dataset are named before Fuseki opens them."""

import shutil
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from supertwin.errors import MendableError
from supertwin.stack.tdb2 import check_dataset
from tests.command_line import run
from tests.servers import Fuseki

TRIPLES = " . ".join(
    f'<urn:s{i}> <urn:p{i % 7}> {i} , "text {i}" , {i}.5e0 , "{i}"^^<urn:type>'
    for i in range(1500)
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset with deep trees and old copies of blocks, of a Fuseki that ended."""
    folder = tmp_path_factory.mktemp("fuseki")
    with Fuseki(folder) as server:
        for number in range(3):
            update = f"""DROP SILENT GRAPH <urn:g{number - 1}> ;
                INSERT DATA {{ GRAPH <urn:g{number}> {{ {TRIPLES} }} }}"""
            answer = httpx.post(
                f"{server.url}/twin/update", data={"update": update}, timeout=120
            )
            assert answer.is_success, answer.text
    return folder / "twin"


@pytest.fixture
def dataset(whole: Path, tmp_path: Path) -> Path:
    """A copy that may be damaged."""
    shutil.copytree(whole, tmp_path / "fuseki" / "twin")
    return tmp_path / "fuseki" / "twin"


def file(dataset: Path, name: str) -> Path:
    return dataset / "Data-0001" / name


def overwrite(path: Path, at: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(content)


def cut(path: Path, size: int) -> None:
    with path.open("r+b") as file:
        file.truncate(size)


RANDOM = bytes((i * 37 + 11) % 251 for i in range(100))
DAMAGES: dict[str, tuple[str, Callable[[Path], None]]] = {
    "terms cut off": ("nodes-data.obj", lambda path: cut(path, 1000)),
    "terms lost": ("nodes-data.obj", lambda path: overwrite(path, 40, bytes(4096))),
    "random records": (
        "SPOG.dat",
        lambda path: overwrite(path, 3 * 8192 + 200, RANDOM),
    ),
    "records lost": (
        "GPOS.dat",
        lambda path: overwrite(path, 2 * 8192 + 64, bytes(200)),
    ),
    "records cut off": ("OSPG.dat", lambda path: cut(path, 8192)),
    "random node": ("GSPO.idn", lambda path: overwrite(path, 8192, RANDOM)),
    "random terms' table": (
        "nodes.dat",
        lambda path: overwrite(path, 8192 + 80, RANDOM),
    ),
    "tree's state cut off": ("POSG.bpt", lambda path: cut(path, 7)),
    "file gone": ("nodes-data.obj", Path.unlink),
}


def test_whole_dataset_is_not_damaged(dataset: Path, tmp_path: Path) -> None:
    check_dataset(dataset)
    check_dataset(tmp_path / "nothing-there")


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_file_is_named(dataset: Path, name: str) -> None:
    damaged, damage = DAMAGES[name]
    damage(file(dataset, damaged))
    with pytest.raises(MendableError) as refused:
        check_dataset(dataset)
    said = str(refused.value)
    # What a record leads to is as wrong as the record.
    assert said.startswith(f"{dataset / 'Data-0001'}/")
    assert damaged in said.partition("): ")[0]
    assert "restore a backup (`supertwin restore DIR`)" in said


def test_fuseki_does_not_start_with_a_damaged_file(
    dataset: Path, tmp_path: Path
) -> None:
    cut(file(dataset, "nodes-data.obj"), 1000)
    done = run({"SUPERTWIN_HOME": str(tmp_path)}, "run", "fuseki")
    assert done.returncode == 2
    assert "nodes-data.obj is damaged (it has 1000 bytes of " in done.stderr
    assert len(done.stderr.splitlines()) == 1
