"""Every term of the vocabulary that the sources use is one that the ontology has."""

import re
from pathlib import Path

import pytest

from ontology.load import ontology_graph
from ontology.terms import ST

ROOT = Path(__file__).parents[2]
FOLDERS = (
    "api",
    "dashboards",
    "docs",
    "ingest",
    "observations",
    "queries",
    "sampler_bridge",
    "supertwin",
)
IN_PYTHON = re.compile(r"\bST\.([A-Za-z]\w*)|\bST\[\"(\w+)\"\]")
IN_SPARQL = re.compile(r"(?<![\w:])st:([A-Za-z]\w*)")
SOURCES = sorted(
    path
    for folder in FOLDERS
    for path in (ROOT / folder).rglob("*")
    if path.suffix in {".py", ".rq", ".md", ".html"}
    and "node_modules" not in path.parts
)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_term_exists(path: Path) -> None:
    text = path.read_text("utf-8")
    used = {name for match in IN_PYTHON.findall(text) for name in match if name}
    used |= set(IN_SPARQL.findall(text))
    known = {s.removeprefix(str(ST)) for s in ontology_graph().subjects() if s}
    assert used <= known
