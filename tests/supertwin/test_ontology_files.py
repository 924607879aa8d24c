"""`supertwin export ontology` writes what is served, whole or not at all."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from rdflib import OWL, BNode, Graph

from ontology.load import FOLDER
from ontology.published import module_files, whole_ontology
from supertwin.cli.main import main
from tests.ontology.graphs import unnamed


def test_all_formats_are_written_and_equal(tmp_path: Path) -> None:
    out = tmp_path / "a" / "b"
    for _ in range(2):
        written = CliRunner().invoke(main, ["export", "ontology", "--out", str(out)])
        assert written.exit_code == 0, written.output
    turtle = Graph().parse(out / "supertwin.ttl")
    assert unnamed(turtle) == unnamed(whole_ontology())
    with pytest.warns(DeprecationWarning, match="ConjunctiveGraph"):
        document = Graph().parse(out / "supertwin.jsonld", format="json-ld")
    assert unnamed(document) == unnamed(turtle)
    context = (out / "context.jsonld").read_bytes()
    assert context == (FOLDER / "context.jsonld").read_bytes()
    modules = {path.stem: path.read_bytes() for path in (out / "modules").iterdir()}
    assert modules == {name: path.read_bytes() for name, path in module_files().items()}
    assert "<!doctype html>" in (out / "index.html").read_text("utf-8")


def test_change_of_a_restriction_is_a_difference() -> None:
    changed = Graph() + whole_ontology()
    restriction = next(s for s in changed.subjects(OWL.onProperty) if type(s) is BNode)
    changed.set((restriction, OWL.onProperty, OWL.topDataProperty))
    assert unnamed(changed) != unnamed(whole_ontology())


def test_unwritable_folder_is_named(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    out = blocked / "below"
    refused = CliRunner().invoke(main, ["export", "ontology", "--out", str(out)])
    assert refused.exit_code == 2
    assert str(out) in refused.output and len(refused.output.splitlines()) == 1
