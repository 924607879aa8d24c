"""hwloc's XML is stored together with the twin that it describes, or not at all."""

from pathlib import Path

from ingest.hwloc.topology_file import keep_xml, topology_path


def test_topology_is_stored_unchanged(tmp_path: Path) -> None:
    assert keep_xml(tmp_path, "node1", "<a>é</a>") == ""
    path = topology_path(tmp_path, "node1")
    assert path == tmp_path / "topology/node1.xml"
    assert path.read_text("utf-8") == "<a>é</a>"
    assert keep_xml(tmp_path, "node1", "<b/>") == ""
    assert path.read_text("utf-8") == "<b/>"
    assert [found.name for found in path.parent.iterdir()] == ["node1.xml"]


def test_description_without_topology_removes_the_old_file(tmp_path: Path) -> None:
    keep_xml(tmp_path, "node1", "<a/>")
    assert keep_xml(tmp_path, "node1", None) == ""
    assert not topology_path(tmp_path, "node1").exists()


def test_failed_write_gives_one_line(tmp_path: Path) -> None:
    (tmp_path / "topology").write_text("a file, where a folder should be")
    line = keep_xml(tmp_path, "node1", "<a/>")
    assert str(tmp_path) in line and "no drawing" in line and "\n" not in line
    assert "no drawing" in keep_xml(tmp_path, "x" * 253, "<a/>")
    assert "no drawing" in keep_xml(tmp_path / "other", "node1", "\ud800")
    assert list((tmp_path / "other/topology").iterdir()) == []


def test_host_name_cannot_leave_the_folder(tmp_path: Path) -> None:
    path = topology_path(tmp_path, "../../x")
    assert path.parent == tmp_path / "topology"
