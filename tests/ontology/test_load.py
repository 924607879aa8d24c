from pathlib import Path

import pytest

from ontology.errors import ModuleError, NoModulesError, OntologyError
from ontology.load import (
    alignment_paths,
    context,
    definitions,
    module_paths,
    ontology_graph,
    read_modules,
)

ST = "https://w3id.org/supertwin/ns#"


def test_ontology_is_read_once() -> None:
    assert ontology_graph() is ontology_graph()
    assert context() is context()


def test_definitions_match_the_graph() -> None:
    subjects = {str(subject) for subject in ontology_graph().subjects()}
    own = {iri.removeprefix(ST) for iri in subjects if iri.startswith(ST)}
    assert {*definitions()} == own


def test_modules_and_alignments_are_separate() -> None:
    stems = {path.stem for path in module_paths()}
    assert {"core", "memory", "telemetry", "observation", "probe", "units"} <= stems
    assert {path.stem for path in alignment_paths()} == {
        "align-brick",
        "align-dtdl",
        "align-hpc",
        "align-prov",
        "align-qudt",
        "align-sosa",
    }


@pytest.mark.parametrize("read", [module_paths, alignment_paths])
def test_empty_folder_is_an_error(read: object, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no module")
    with pytest.raises(NoModulesError, match="reinstall"):
        read(tmp_path)  # type: ignore[operator]
    assert issubclass(NoModulesError, OntologyError)


@pytest.mark.parametrize("content", [b"<a> <b> .", b"@prefix : <x", b"\xff\xfe\xff"])
def test_broken_module_is_named_in_one_line(content: bytes, tmp_path: Path) -> None:
    module = tmp_path / "broken.ttl"
    module.write_bytes(content)
    with pytest.raises(ModuleError, match=r"broken\.ttl") as caught:
        read_modules([module])
    assert len(str(caught.value).splitlines()) == 1


def test_missing_module_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModuleError, match=r"gone\.ttl"):
        read_modules([tmp_path / "gone.ttl"])
