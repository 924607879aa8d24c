"""Terms that nothing writes say so, and no other terms do."""

import re
from pathlib import Path

from rdflib import RDF, SKOS

from ontology.load import FOLDER, ontology_graph
from ontology.terms import ST

ROOT = FOLDER.parent
# The folders that create graphs. The rest of supertwin/ only reads terms: including it
# would hide terms that nothing writes.
WRITERS = (
    "ingest",
    "observations",
    "benchmarks",
    "api/processes",
    "sampling/agents",
    "sampling/plans",
    "sampling/probes",
    "sampling/cgroup_twins.py",
    "virtual_telemetry",
)
_IN_PYTHON = re.compile(r"\bST\.([A-Za-z]\w*)|\bST\[\"(\w+)\"\]")
_IN_DATA = re.compile(r"(?<![\w:])st:([A-Za-z]\w*)")


def named(folders: tuple[str, ...]) -> set[str]:
    """The terms that the sources in these folders name."""
    found: set[str] = set()
    for path in (path for folder in folders for path in _files(ROOT / folder)):
        if path.suffix in {".py", ".ttl"}:
            found |= names(path)
    return found


def _files(place: Path) -> list[Path]:
    return [place] if place.is_file() else [*place.rglob("*")]


def names(path: Path) -> set[str]:
    text = path.read_text("utf-8")
    in_python = {one or other for one, other in _IN_PYTHON.findall(text)}
    return in_python | set(_IN_DATA.findall(text))


def terms() -> set[str]:
    return {
        str(term).removeprefix(str(ST))
        for term in ontology_graph().subjects(RDF.type)
        if str(term).startswith(str(ST))
    }


def not_stored() -> set[str]:
    notes = ontology_graph().subject_objects(SKOS.scopeNote)
    return {
        str(term).removeprefix(str(ST))
        for term, note in notes
        if str(note).startswith(("Not stored: ", "Not stored yet: "))
    }


def test_unwritten_terms_are_marked_as_not_stored() -> None:
    silent = terms() - named(WRITERS) - not_stored()
    assert not silent, (
        f"nothing in {', '.join(WRITERS)} writes {', '.join(sorted(silent))}: write "
        'it, or say why not in a skos:scopeNote "Not stored: …" or "Not stored yet: …"'
    )


def test_written_terms_are_not_marked_as_not_stored() -> None:
    wrong = not_stored() & named(WRITERS[:2])
    assert not wrong, f"{', '.join(sorted(wrong))} is written: remove its scope note"
