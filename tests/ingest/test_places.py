"""Which domains are near which threads, on machines whose sockets are divided."""

import pytest

from ingest.describe.places import HostTopology
from ingest.hwloc.read import parse_hwloc
from ingest.schema.topology import Hwloc
from tests.ingest.documents import IRIS, synthetic

DIVIDED = "pack:2 group:2 [numa] core:2 pu:1"
WHOLE = "pack:2 [numa] core:2 pu:1"


@pytest.mark.parametrize(
    ("machine", "threads", "domains"),
    [
        # A core's own domain, and the two of a socket.
        (DIVIDED, [2], ["1"]),
        (DIVIDED, [0, 1], ["0"]),
        (DIVIDED, [4, 5, 6, 7], ["2", "3"]),
        # Three of four are nearer than the fourth. A part next to a whole is ignored.
        (DIVIDED, [0, 1, 2, 3, 4, 5], ["0", "1", "2"]),
        (DIVIDED, [0, 1, 2], ["0"]),
        # Equally near to everything means near to nothing.
        (DIVIDED, list(range(8)), []),
        (WHOLE, list(range(4)), []),
        (DIVIDED, [], []),
        (WHOLE, [3], ["1"]),
        ("core:2 [numa] pu:1", [0], ["0"]),
        ("[numa] core:2 pu:1", [0, 1], ["0"]),
    ],
)
def test_nearest_domains_are_found(
    machine: str, threads: list[int], domains: list[str]
) -> None:
    topology = Hwloc.model_validate(parse_hwloc(synthetic(machine)))
    places = HostTopology(IRIS, "n1", topology)
    assert places.domains(threads) == [
        IRIS.component("n1", "numa", number) for number in domains
    ]
