"""The worked examples of the saved queries: ``<group>/<name>/cases.yaml``.

``data`` names a TriG file, relative to the YAML file; each case has its ``params`` and
the ``rows`` expected, in order. IRIs of a host are written ``twin:n1/thread/0``, those
of the vocabularies with their prefix.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from rdflib import BNode, Dataset, Literal, URIRef

from ontology.terms import PREFIXES
from queries.binding import Scalar

FOLDER = Path(__file__).parent
# Each worker reads all of them; the pure Python loader takes ten times as long.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_PREFIXES = {
    "twin": "http://localhost:8000/twin/",
    "base": "http://localhost:8000/",
    **PREFIXES,
}


@dataclass(frozen=True)
class Case:
    """One call of a saved query and its expected result."""

    query: str
    title: str
    data: Path
    params: dict[str, Scalar | None]
    rows: list[list[Any]]

    def __str__(self) -> str:
        return f"{self.query}: {self.title}"


def case_file(query: str) -> Path:
    """The path of the cases of a saved query."""
    return FOLDER / query / "cases.yaml"


def all_cases() -> list[Case]:
    """Every case of every query that has a folder."""
    return [
        Case(
            query=str(path.parent.relative_to(FOLDER)),
            title=case["title"],
            data=(path.parent / case.get("data", document["data"])).resolve(),
            params=case.get("params", {}),
            rows=case["rows"],
        )
        for path in sorted(FOLDER.glob("*/*/cases.yaml"))
        for document in [yaml.load(path.read_text(), Loader=_LOADER)]
        for case in document["cases"]
    ]


@cache
def load_data(path: Path) -> Dataset:
    """A TriG file; its default graph is the union of its named graphs."""
    data = Dataset(default_union=True)
    return data.parse(data=path.read_text(), format="trig")


def plain(term: URIRef | BNode | Literal | None) -> Any:
    """A term as the cases write it."""
    if isinstance(term, URIRef):
        for prefix, start in _PREFIXES.items():
            if term.startswith(start):
                return f"{prefix}:{term[len(start) :]}"
    return term if term is None else term.toPython()
