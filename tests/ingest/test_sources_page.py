"""The table of docs/sources.md: its terms, queries, sources and tests exist."""

import re
from pathlib import Path

import pytest
from rdflib import RDF

from ingest.probe import SOURCES
from ontology.load import ontology_graph
from ontology.terms import ST
from queries.catalogue import load_catalogue

ROOT = Path(__file__).parents[2]
# Table 4.1 of the thesis; the page uses its own words for these names.
TABLE = """architecture; operating system; kernel; motherboard; UUID; NUMA domains;
model; rotational; size; metrics; cores; hyperthreading; TLBs; flags; nominal; lowest;
highest; topology; line; ways; sets; groups of threads; name; type; number of events;
number of counters; max encoding; description; unit masks; modifiers; bus; firmware;
IPv4; link; serial; speed; vendor; virtual; clock; slot"""


def _rows() -> list[list[str]]:
    page = (ROOT / "docs" / "sources.md").read_text("utf-8")
    table = page[page.index("## What is known") :]
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[1:]]


@pytest.mark.parametrize("row", _rows(), ids=lambda row: row[0])
def test_rows_name_existing_terms_and_queries(row: list[str]) -> None:
    fact, sources, terms, query, live, tests = row
    names = re.findall(r"`st:(\w+)`", terms)
    text = (ROOT / "queries" / f"{query.strip('`')}.rq").read_text("utf-8")
    assert names
    assert query.strip("`") in load_catalogue()
    declared = set(ontology_graph().subjects(RDF.type))
    assert [name for name in names if ST[name] not in declared] == []
    assert [n for n in names if not re.search(rf"st:{n}\b", text)] == [], fact
    assert live in ("yes", "")
    asked = re.findall(r"`(\w+)`", sources)
    assert asked and set(asked) <= SOURCES.keys() or sources == "all"
    files = re.findall(r"`(\w+)`", tests)
    assert files
    assert all((ROOT / "tests" / "ingest" / f"{name}.py").is_file() for name in files)


def test_every_cell_of_the_thesis_is_on_the_page() -> None:
    facts = "; ".join(row[0] for row in _rows())
    words = [" ".join(word.split()) for word in TABLE.split(";")]
    assert [word for word in words if word not in facts] == []


def test_every_source_gives_a_fact() -> None:
    named = {name for row in _rows() for name in re.findall(r"`(\w+)`", row[1])}
    assert named == SOURCES.keys()
