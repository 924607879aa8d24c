"""Trees of made-up machines, read back from the graph store."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.stores.endpoint import Endpoint
from pinning.tree import Tree
from tests.ingest.documents import synthetic
from tests.pinning.table import load, stored_tree
from tests.servers import Fuseki

# 2 sockets × 2 NUMA domains × 2 L3 × 2 cores × 2 threads, siblings 16 apart.
BIG = "pack:2 numa:2 l3:2 l2:2 l1d:1 core:1 pu:2(indexes=2*16:1*2)"
# 2 sockets × 4 NUMA domains × 4 L3 × 4 cores × 2 threads: two EPYC 7H12.
EPYC = "pack:2 numa:4 l3:4 l2:4 l1d:1 core:1 pu:2(indexes=2*128:1*2)"

MakeTree = Callable[[str], Tree]


@pytest.fixture(scope="session")
def twin(fuseki: Fuseki) -> Iterator[Endpoint]:
    with Endpoint(f"{fuseki.url}/twin") as found:
        yield found


@pytest.fixture(scope="session")
def made_up(
    twin: Endpoint, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], tuple[Tree, Path]]:
    """The tree and the XML of a synthetic hwloc machine, through the store.

    The store may be emptied later; a machine is loaded again when it is requested.
    """
    known: dict[str, tuple[Tree, Path]] = {}
    folder = tmp_path_factory.mktemp("machines")

    def make(text: str) -> tuple[Tree, Path]:
        if text not in known:
            path = folder / f"m{len(known)}.xml"
            path.write_bytes(synthetic(text))
            load(twin, path, path.stem)
            known[text] = stored_tree(twin, path.stem), path
        return known[text]

    return make


@pytest.fixture(scope="session")
def tree(made_up: Callable[[str], tuple[Tree, Path]]) -> Tree:
    return made_up(BIG)[0]


@pytest.fixture(scope="session")
def epyc(made_up: Callable[[str], tuple[Tree, Path]]) -> Tree:
    return made_up(EPYC)[0]
