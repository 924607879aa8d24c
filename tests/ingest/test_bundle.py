"""Copies of machines from any origin: whole, cut short, damaged and hostile."""

import io
import itertools
import json
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ingest.errors import BundleError, SourceMissingError, SourceRefusedError
from ingest.remote import bundle
from ingest.remote.bundle import unpack, unpacked
from ingest.remote.collect import FIRST, LAST

LINK, FOLDER = tarfile.SYMTYPE, tarfile.DIRTYPE
Given = tuple[str, bytes, bytes, str]


def file(name: str, content: bytes = b"x", kind: bytes = tarfile.REGTYPE) -> Given:
    return name, content, kind, ""


def link(name: str, target: str, kind: bytes = LINK) -> Given:
    return name, b"", kind, target


def copy(*entries: Given, tools: Any = None, last: bool = True) -> bytes:
    """A copy with these entries, as the collector writes it."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        ending = [file(LAST, json.dumps({"tools": tools or {}}).encode())] * last
        for name, content, kind, target in [file(FIRST, b"{}"), *entries, *ending]:
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.size = kind, target, len(content)
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def reader(content: bytes) -> Callable[[int], bytes]:
    """A stream that returns its content in small pieces."""
    stream = io.BytesIO(content)
    return lambda most: stream.read(min(most, 1000))


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_files_folders_and_links_are_unpacked(tmp_path: Path) -> None:
    long = "root/" + "/".join(["a" * 60] * 4)
    content = copy(
        file("root/proc/cpuinfo", b"processor: 0\n"),
        link("root/sys/class/net/eth0", "../../devices/eth0"),
        file("root/sys/devices/eth0/mtu", b"1500\n"),
        file("root/sys/empty", b"", FOLDER),
        file(long, b"deep"),
        link("root/l", "./" + "b/" * 90),
        file("tools/architecture", b"x86_64"),
        tools={"architecture": {"reason": None}},
    )
    copied = unpack(reader(content), tmp_path)
    root = copied.machine.root
    assert (root / "sys/class/net/eth0/mtu").read_text() == "1500\n"
    assert (root / "sys/empty").is_dir()
    assert (tmp_path / long).read_text() == "deep"
    assert copied.machine.tool("architecture") == b"x86_64"
    assert "Architecture: x86_64" in (root / "proc/hwloc-nofile-info").read_text()
    assert (copied.as_root, copied.cut, copied.unread) == (False, "", [])


def test_failures_of_remote_tools_keep_their_reason(tmp_path: Path) -> None:
    missing = {"reason": "lshw is not installed there", "missing": True}
    refused = {"reason": "dmidecode\x1b[2J needs\nroot", "missing": False}
    content = copy(
        file("tools/lshw", b""), tools={"lshw": missing, "dmidecode": refused}
    )
    machine = unpack(reader(content), tmp_path).machine
    with pytest.raises(SourceMissingError, match="lshw is not installed there"):
        machine.tool("lshw")
    with pytest.raises(SourceRefusedError, match=r"^dmidecode \[2J needs root$"):
        machine.tool("dmidecode")
    with pytest.raises(SourceMissingError, match="was not run"):
        machine.tool("nvidia-smi")


def test_login_banner_before_the_copy_is_skipped(tmp_path: Path) -> None:
    motd = b"Welcome to n1!\r\n\x1b[1mLast login: never\x1b[0m\n" * 500
    copied = unpack(reader(motd + copy(file("root/x"))), tmp_path)
    assert (copied.machine.root / "x").read_bytes() == b"x"


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        ([file("../evil")], "outside its folders"),
        ([file("root/../../evil")], "outside its folders"),
        ([file("/etc/evil")], "outside its folders"),
        ([file("root//evil")], "outside its folders"),
        ([file("root/./evil")], "outside its folders"),
        ([file("evil")], "outside its folders"),
        ([file("root")], "outside its folders"),
        ([file("root/\x1b[31mevil\n/..")], "outside its folders"),
        ([link("root/a", "/etc")], "leads out"),
        ([link("root/a", "../../..")], "leads out"),
        ([link("root/b", ".."), link("root/a", "b/../..")], "leads out"),
        ([link("root/a", "b"), link("root/b", "a")], "leads out"),
        ([link("root/a", "..")], "leads out"),
        ([link("tools/a", "../root")], "not a file"),
        ([link("root/a", "d"), file("root/a/evil")], "a name that is invalid here"),
        ([file("root/a"), file("root/a")], "a name that is invalid here"),
        ([file("root/a"), file("root/a/b")], "a name that is invalid here"),
        ([file("root/" + "n" * 300)], "a name that is invalid here"),
        ([link("root/a", "root/b", tarfile.LNKTYPE)], "not a file, folder or link"),
        ([file("root/a", b"", tarfile.CHRTYPE)], "not a file, folder or link"),
        ([file("root/a", b"", tarfile.BLKTYPE)], "not a file, folder or link"),
        ([file("root/a", b"", tarfile.FIFOTYPE)], "not a file, folder or link"),
        ([file("root/a", b"", tarfile.GNUTYPE_SPARSE)], "not a file, folder or link"),
        ([file("root/a", b"10 a=b\n", tarfile.XHDTYPE)], "not a file, folder or link"),
        ([file("x", b"a" * 5000, tarfile.GNUTYPE_LONGNAME)], "4096 are allowed"),
        ([file(LAST, b"[" * 100000)], "cannot be read"),
        ([file(LAST, b"[]")], "cannot be read"),
    ],
)
def test_hostile_copies_are_refused(
    tmp_path: Path, entries: list[Given], why: str
) -> None:
    place = tmp_path / "a" / "b"
    place.mkdir(parents=True)
    with pytest.raises(BundleError) as caught:
        unpack(reader(copy(*entries)), place)
    assert why in str(caught.value)
    assert str(caught.value).isprintable()
    assert [path for path in tmp_path.rglob("*") if place not in path.parents] == [
        tmp_path / "a",
        place,
    ]


def test_huge_declared_size_is_refused(tmp_path: Path) -> None:
    info = tarfile.TarInfo("root/a")
    info.size = 1 << 50
    content = copy(last=False)[:1024] + info.tobuf(tarfile.GNU_FORMAT)
    with pytest.raises(BundleError, match="67108864 are allowed"):
        unpack(reader(content), tmp_path)


def test_endless_garbage_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="a copy of a machine .it begins with 'yyy"):
        unpack(lambda most: b"y" * most, tmp_path)


@pytest.mark.parametrize(
    ("limit", "why"),
    [("_MOST", "larger than 0 MiB"), ("_MOST_ENTRIES", "more than 500 entries")],
)
def test_endless_copies_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, why: str
) -> None:
    def entries() -> Iterator[bytes]:
        yield copy(last=False)[:1024]
        for number in itertools.count():
            yield tarfile.TarInfo(f"root/{number}").tobuf(tarfile.GNU_FORMAT)

    monkeypatch.setattr(bundle, limit, 500)
    pieces = entries()
    with pytest.raises(BundleError, match=why):
        unpack(lambda most: next(pieces), tmp_path)


@pytest.mark.parametrize("left", [*range(0, 2048, 512), 1, 700, 1030, 2000])
def test_truncated_copies_are_refused(tmp_path: Path, left: int) -> None:
    content = copy(file("root/a", b"a" * 600))
    with pytest.raises(BundleError) as caught:
        unpack(reader(content[:left]), tmp_path)
    assert "truncated" in str(caught.value) or "not a copy" in str(caught.value)


def test_damaged_copies_are_refused(tmp_path: Path) -> None:
    content = bytearray(copy(file("root/a")))
    content[1024 + 10] ^= 1
    with pytest.raises(BundleError, match="damaged"):
        unpack(reader(bytes(content)), tmp_path)


def test_unpacked_copy_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        monkeypatch.setenv("TMPDIR", folder)
        with unpacked(reader(copy(file("root/a")))) as copied:
            assert copied.machine.root.is_relative_to(folder)
        with pytest.raises(BundleError), unpacked(reader(copy(file("evil")))):
            pass
        assert names(Path(folder)) == []


def test_copy_of_a_killed_process_is_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(bundle, "_NEW_SECONDS", -1.0)
    (tmp_path / "supertwin-copy-dead/root").mkdir(parents=True)
    (tmp_path / "supertwin-copy-link").symlink_to(tmp_path / "other")
    (tmp_path / "other").mkdir()
    with unpacked(reader(copy(file("root/a")))) as mine:
        assert not (tmp_path / "supertwin-copy-dead").exists()
        with unpacked(reader(copy(file("root/b")))):
            assert (mine.machine.root / "a").exists()
    assert names(tmp_path) == ["other", "supertwin-copy-link"]
