"""`supertwin export ontology` writes what is served, whole or not at all."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from rdflib import Graph
from rdflib.compare import isomorphic

from ontology.load import FOLDER
from ontology.published import module_files, whole_ontology
from supertwin.cli.main import main


def test_all_formats_are_written_and_equal(tmp_path: Path) -> None:
    out = tmp_path / "a" / "b"
    for _ in range(2):
        written = CliRunner().invoke(main, ["export", "ontology", "--out", str(out)])
        assert written.exit_code == 0, written.output
    turtle = Graph().parse(out / "supertwin.ttl")
    assert isomorphic(turtle, whole_ontology())
    with pytest.warns(DeprecationWarning, match="ConjunctiveGraph"):
        document = Graph().parse(out / "supertwin.jsonld", format="json-ld")
    assert isomorphic(document, turtle)
    context = (out / "context.jsonld").read_bytes()
    assert context == (FOLDER / "context.jsonld").read_bytes()
    modules = {path.stem: path.read_bytes() for path in (out / "modules").iterdir()}
    assert modules == {name: path.read_bytes() for name, path in module_files().items()}
    assert "<!doctype html>" in (out / "index.html").read_text("utf-8")


def test_unwritable_folder_is_named(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    out = blocked / "below"
    refused = CliRunner().invoke(main, ["export", "ontology", "--out", str(out)])
    assert refused.exit_code == 2
    assert str(out) in refused.output and len(refused.output.splitlines()) == 1
