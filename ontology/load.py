"""Read the OWL modules and the JSON-LD context next to this file."""

import hashlib
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from rdflib import OWL, RDF, Graph
from rdflib.exceptions import ParserError
from rdflib.plugins.parsers.notation3 import BadSyntax

from ontology.errors import ModuleError, NoModulesError

FOLDER = Path(__file__).parent
ALIGNMENT_PREFIX = "align-"
SUPERCLASSES = FOLDER / "classified" / "superclasses.ttl"
# Each definition starts a line with `st:Term`; a test compares them with the graph.
_DEFINITION = re.compile(r"^st:([\w-]+)(?=\s)", re.MULTILINE)


def read_modules(paths: list[Path]) -> Graph:
    """Parse Turtle files into one graph; raises ModuleError for a broken file."""
    graph = Graph()
    for path in paths:
        try:
            graph.parse(path, format="turtle")
        except (BadSyntax, ParserError, UnicodeDecodeError, OSError) as error:
            reason = str(error).splitlines()[0]
            raise ModuleError(f"{path}: {reason}; fix the Turtle") from error
    return graph


def axioms(graph: Graph) -> Graph:
    """All triples of a graph except the modules' headers, which import others."""
    found = Graph()
    headers = set(graph.subjects(RDF.type, OWL.Ontology))
    for triple in graph:
        if triple[0] not in headers:
            found.add(triple)
    return found


def module_paths(folder: Path = FOLDER) -> list[Path]:
    """The core modules, sorted; raises NoModulesError without any."""
    found = sorted(folder.glob("*.ttl"))
    core = [path for path in found if not path.name.startswith(ALIGNMENT_PREFIX)]
    if not core:
        raise NoModulesError(f"{folder} holds no *.ttl: reinstall SuperTwin")
    return core


def alignment_paths(folder: Path = FOLDER) -> list[Path]:
    """The alignment modules, sorted; raises NoModulesError without any."""
    found = sorted(folder.glob(f"{ALIGNMENT_PREFIX}*.ttl"))
    if not found:
        raise NoModulesError(f"{folder} holds no alignments: reinstall SuperTwin")
    return found


@cache
def ontology_graph() -> Graph:
    """All core modules in one graph, without the alignments; do not change it."""
    return read_modules(module_paths())


@cache
def definitions() -> dict[str, str]:
    """The Turtle after each term of ``st:`` in the core modules, by the term's name.

    For commands, since rdflib needs a tenth of a second for the graph.
    """
    found: dict[str, str] = {}
    for path in module_paths():
        parts = _DEFINITION.split(path.read_text(encoding="utf-8"))
        for name, text in zip(parts[1::2], parts[2::2], strict=True):
            found[name] = found.get(name, "") + text
    return found


@cache
def alignment_graph() -> Graph:
    """All alignments to SOSA/SSN, QUDT, PROV, Brick and DTDL; do not change it."""
    return read_modules(alignment_paths())


def ontology_digest() -> str:
    """SHA-256 (hex) of all modules, alignments and derived superclasses."""
    paths = (*module_paths(), *alignment_paths(), SUPERCLASSES)
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


@cache
def context() -> dict[str, Any]:
    """The JSON-LD context document, ``{"@context": {…}}``; do not change it."""
    path = FOLDER / "context.jsonld"
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModuleError(f"{path}: {error}; reinstall SuperTwin") from error
    return document
