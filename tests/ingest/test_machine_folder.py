"""Files are recognised by their contents, and hosts by what the files say."""

import json
from pathlib import Path

import pytest

from ingest.errors import IngestError
from ingest.machine_folder import duplicate_reasons, files_in, recognise
from tests.ingest.documents import document, synthetic
from tests.ingest.test_bundle import copy, file

ORIGINAL = Path(__file__).parent / "machines/original.json"


def kinds(folder: Path, **contents: bytes) -> dict[str, tuple[str, str]]:
    """The kind and host of each file; two underscores in a name are a full stop."""
    for name, content in contents.items():
        (folder / name.replace("__", ".")).write_bytes(content)
    found = {path.name: recognise(path) for path in files_in(folder)}
    return {name: (one.kind, one.host) for name, one in found.items() if one}


def test_files_have_kind_and_host(tmp_path: Path) -> None:
    xml = synthetic("core:2 pu:1")
    probed = json.dumps(document({}, "n1.example.org")).encode()
    nameless = json.dumps({"format": "supertwin-probe/1"}).encode()
    copied = copy(file("root/proc/sys/kernel/hostname", b"far\n"))
    assert kinds(
        tmp_path,
        a__json=probed,
        b__xml=xml,
        c=xml,
        d__probe=probed,
        e__json=ORIGINAL.read_bytes(),
        f__json=nameless,
        g__collected=b"Welcome!\n" + copied,
        h__tar=copied,
        i__collected=copy(),
        README__md=b"{}",
    ) == {
        "a.json": ("probe", "n1.example.org"),
        "b.xml": ("hwloc", "b"),
        "c": ("hwloc", "c"),
        "d.probe": ("probe", "n1.example.org"),
        "e.json": ("original", "made-up"),
        "f.json": ("probe", "f"),
        "g.collected": ("collected", "far"),
        "h.tar": ("collected", "far"),
        "i.collected": ("collected", "i"),
    }


def test_copy_is_read(tmp_path: Path) -> None:
    path = tmp_path / "n1.collected"
    path.write_bytes(copy(file("root/proc/sys/kernel/osrelease", b"6.1\n")))
    found = recognise(path)
    assert found
    assert found.document().host == "n1"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", b"{"),
        ("a.json", b"7"),
        ("a.json", b"{}"),
        ("a.json", b"\xff\xfe"),
        ("a.collected", b"<topology>"),
        ("a.collected", copy()[:1000]),
        ("-.xml", b"<topology>"),
    ],
)
def test_similar_files_are_refused(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(IngestError):
        recognise(path)


def test_files_of_one_host_are_grouped(tmp_path: Path) -> None:
    for name, host in (("a", "n1"), ("b", "n2"), ("c", "n1")):
        (tmp_path / f"{name}.json").write_text(json.dumps(document({}, host)))
    files = [found for path in files_in(tmp_path) if (found := recognise(path))]
    refused = duplicate_reasons(files)
    assert [path.name for path in refused] == ["a.json", "c.json"]
    assert "c.json both describe n1: keep one" in refused[tmp_path / "a.json"]
