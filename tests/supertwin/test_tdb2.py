"""Damaged files of a dataset are named before Fuseki opens them."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from supertwin.errors import DamagedDatasetError
from supertwin.stack.tdb2 import check_dataset
from tests.command_line import run
from tests.servers import Fuseki

TRIPLES = " . ".join(
    f'<urn:s{i}> <urn:p{i % 7}> {i} , "text {i}" , {i}.5e0 , "{i}"^^<urn:type>'
    for i in range(1500)
)
OTHER = "<urn:s> <urn:p> 1"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a dataset with deep trees and old copies of blocks; its Fuseki has ended."""
    folder = tmp_path_factory.mktemp("fuseki")
    with Fuseki(folder) as server:
        for number in range(3):
            write(
                server,
                f"""DROP SILENT GRAPH <urn:g{number - 1}> ;
                INSERT DATA {{ {OTHER} GRAPH <urn:g{number}> {{ {TRIPLES} }} }}""",
            )
        twin = folder / "twin"
        for name in TREES:
            shutil.copy(twin / "Data-0001" / f"{name}.bpt", twin)
        write(server, "INSERT DATA { <urn:t> <urn:p> 1 GRAPH <urn:h> { <urn:t> a 1 } }")
    return twin


def write(server: Fuseki, update: str) -> None:
    answer = httpx.post(
        f"{server.url}/twin/update", data={"update": update}, timeout=120
    )
    assert answer.is_success, answer.text


@pytest.fixture
def dataset(whole: Path, tmp_path: Path) -> Path:
    """Return a copy that may be damaged; `cp` leaves the files' holes out."""
    copy = tmp_path / "fuseki" / "twin"
    copy.parent.mkdir()
    subprocess.run(["cp", "--recursive", whole, copy], check=True)
    return copy


def file(dataset: Path, name: str) -> Path:
    return dataset / "Data-0001" / name


def overwrite(path: Path, at: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(content)


def cut(path: Path, size: int) -> None:
    with path.open("r+b") as file:
        file.truncate(size)


def empty(path: Path) -> None:
    """Fill a file with zeros, at the same length."""
    size = path.stat().st_size
    cut(path, 0)
    cut(path, size)


def older(path: Path) -> None:
    """Restore a tree's state from before the last write."""
    path.write_bytes((path.parent.parent / path.name).read_bytes())


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
    "lengths gone": ("nodes-data.bdf", Path.unlink),
    "state of before": ("GPOS.bpt", older),
}
TREES = ("GSPO", "GPOS", "GOSP", "SPOG", "POSG", "OSPG", "SPO", "POS", "OSP", "nodes")
FILES = [f"{tree}.{part}" for tree in TREES for part in ("bpt", "idn", "dat")]
# The trees of prefixes are empty here, so loss of their records cannot be noticed.
FILES += [f"{tree}.{part}" for tree in ("prefixes", "GPU") for part in ("bpt", "idn")]
DAMAGES |= {f"{name} gone": (name, Path.unlink) for name in FILES}
DAMAGES |= {f"{name} zero": (name, empty) for name in FILES}


def test_whole_dataset_is_not_damaged(dataset: Path, tmp_path: Path) -> None:
    check_dataset(dataset)
    check_dataset(tmp_path / "nothing-there")


def test_empty_dataset_is_not_damaged(whole: Path) -> None:
    """This includes a dataset that Fuseki was creating: it creates what is missing."""
    dataset = whole.parent / "history"
    check_dataset(dataset)
    for name in ("GSPO.bpt", "nodes-data.bdf", "SPO.dat"):
        file(dataset, name).unlink()
        check_dataset(dataset)


def test_emptied_dataset_is_not_damaged(tmp_path: Path) -> None:
    with Fuseki(tmp_path) as server:
        write(server, f"INSERT DATA {{ {TRIPLES} . GRAPH <urn:g> {{ {TRIPLES} }} }}")
        write(server, "DROP ALL")
    check_dataset(tmp_path / "twin")


def test_trees_may_differ_by_what_the_journal_repairs(dataset: Path) -> None:
    older(file(dataset, "GPOS.bpt"))
    file(dataset, "journal.jrnl").write_bytes(b"a transaction")
    check_dataset(dataset)


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_file_is_named(dataset: Path, name: str) -> None:
    damaged, damage = DAMAGES[name]
    damage(file(dataset, damaged))
    with pytest.raises(DamagedDatasetError) as refused:
        check_dataset(dataset)
    found = str(refused.value)
    # A wrong record may show as an error in the file that it points to.
    assert found.startswith(f"{dataset / 'Data-0001'}/")
    assert damaged.replace(".bpt", ".") in found.partition("): ")[0]
    assert "restore a backup (`supertwin restore DIR`)" in found


def test_fuseki_does_not_start_with_a_damaged_file(
    dataset: Path, tmp_path: Path
) -> None:
    cut(file(dataset, "nodes-data.obj"), 1000)
    done = run({"SUPERTWIN_HOME": str(tmp_path)}, "run", "fuseki")
    assert done.returncode == 2
    assert "nodes-data.obj " in done.stderr and "[dataset-damaged]" in done.stderr
    assert len(done.stderr.splitlines()) == 1
