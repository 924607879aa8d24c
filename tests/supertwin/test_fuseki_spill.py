"""The folder for the rows of large sorts."""

from pathlib import Path

from core.settings.settings import Settings
from supertwin.stack import children


def test_rows_of_a_dead_fuseki_are_removed(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    options = children.fuseki(settings).command
    spill = tmp_path / "fuseki/spill"
    assert f"-Djava.io.tmpdir={spill}" in options
    (spill / "DataBag-1.tmp").write_text("rows")
    children.fuseki(settings)
    assert not list(spill.iterdir())
