import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rdflib import Graph

from core.stores.endpoint import Endpoint
from ontology.iris import stated
from supertwin.cli.main import main
from tests.dtdl.twins import Twin, everything
from tests.servers import Fuseki

Document = list[dict[str, Any]]


@dataclass(frozen=True)
class Installation:
    """A graph store that contains only what the tests import."""

    url: str
    folder: Path

    def run(self, *words: str) -> Result:
        """Run `supertwin WORDS` in this process."""
        return CliRunner().invoke(main, list(words))

    def load(self, text: bytes, *words: str) -> Result:
        path = self.folder / "twin.json"
        path.write_bytes(text)
        return self.run("import", "dtdl", str(path), *words)

    def graphs(self) -> dict[str, Graph]:
        """Every named graph of facts."""
        with Endpoint(f"{self.url}/twin") as twin:
            facts = stated("?s ?p ?o")
            rows = twin.select(f"SELECT ?graph ?s ?p ?o {{ {facts} }}").rows
        found: dict[str, Graph] = {}
        for name, *triple in rows:
            found.setdefault(str(name), Graph()).add(triple)  # type: ignore[arg-type]
        return found


@pytest.fixture(scope="session")
def odd() -> Twin:
    """A host with one of everything."""
    return everything()


@pytest.fixture
def two(odd: Twin) -> Document:
    """Its document in version 2, which tests may damage."""
    found: Document = json.loads(odd.document(2))
    return found


@pytest.fixture
def three(odd: Twin) -> Document:
    """Its document in version 3."""
    found: Document = json.loads(odd.document(3))
    return found


@pytest.fixture
def installation(before_fuseki: Fuseki, tmp_path: Path) -> Installation:
    """An empty graph store, and the command line for it."""
    return Installation(before_fuseki.url, tmp_path)
