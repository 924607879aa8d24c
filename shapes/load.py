"""Read the shapes next to this file."""

from functools import cache
from pathlib import Path

from rdflib import Graph

from shapes.errors import NoShapesError

FOLDER = Path(__file__).parent


def shape_paths(folder: Path = FOLDER) -> list[Path]:
    """The shape files, sorted; raises NoShapesError without any."""
    found = sorted(folder.glob("*.ttl"))
    if not found:
        raise NoShapesError(f"{folder} holds no *.ttl: reinstall SuperTwin")
    return found


@cache
def shapes_graph() -> Graph:
    """All shapes in one graph; do not change it."""
    graph = Graph()
    for path in shape_paths():
        graph.parse(path, format="turtle")
    return graph
