"""Every term of the vocabulary that the sources use is in the ontology."""

import re
from pathlib import Path

from ontology.load import ontology_graph
from ontology.terms import ST

ROOT = Path(__file__).parents[2]
FOLDERS = (
    "api",
    "core",
    "dashboards",
    "docs",
    "ingest",
    "observations",
    "queries",
    "sampler_bridge",
    "sampling",
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


def test_every_used_term_exists() -> None:
    known = {s.removeprefix(str(ST)) for s in ontology_graph().subjects() if s}
    unknown = {str(path.relative_to(ROOT)): _used(path) - known for path in SOURCES}
    assert not {path: terms for path, terms in unknown.items() if terms}


def _used(path: Path) -> set[str]:
    text = path.read_text("utf-8")
    in_python = {name for match in IN_PYTHON.findall(text) for name in match if name}
    return in_python | set(IN_SPARQL.findall(text))
