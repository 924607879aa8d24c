"""hwloc's XML is stored together with the twin that it describes, or not at all."""

from pathlib import Path
from typing import Any

from ingest.hwloc.topology_file import keep_topology, topology_path


def document(xml: Any, host: str = "node1") -> dict[str, Any]:
    return {"host": host, "facts": {"hwloc": {"xml": xml}}}


def test_topology_is_kept_completely(tmp_path: Path) -> None:
    assert keep_topology(tmp_path, document("<a>é</a>")) == ""
    path = topology_path(tmp_path, "node1")
    assert path == tmp_path / "topology/node1.xml"
    assert path.read_text("utf-8") == "<a>é</a>"
    assert keep_topology(tmp_path, document("<b/>")) == ""
    assert path.read_text("utf-8") == "<b/>"
    assert [found.name for found in path.parent.iterdir()] == ["node1.xml"]


def test_description_without_a_topology_removes_the_old_one(tmp_path: Path) -> None:
    for facts in ({}, {"hwloc": None}, {"hwloc": {"xml": None}}, {"hwloc": {"xml": 7}}):
        keep_topology(tmp_path, document("<a/>"))
        assert keep_topology(tmp_path, {"host": "node1", "facts": facts}) == ""
        assert not topology_path(tmp_path, "node1").exists()


def test_failed_write_gives_one_line(tmp_path: Path) -> None:
    (tmp_path / "topology").write_text("a file, where a folder should be")
    line = keep_topology(tmp_path, document("<a/>"))
    assert str(tmp_path) in line and "no drawing" in line and "\n" not in line
    assert "no drawing" in keep_topology(tmp_path, document("<a/>", "x" * 253))
    assert "no drawing" in keep_topology(tmp_path / "other", document("\ud800"))
    assert list((tmp_path / "other/topology").iterdir()) == []


def test_host_name_cannot_leave_the_folder(tmp_path: Path) -> None:
    path = topology_path(tmp_path, "../../x")
    assert path.parent == tmp_path / "topology"
