"""NUMA memory, huge pages and swap, from trees that imitate /sys and /proc."""

from pathlib import Path

import pytest

from ingest.errors import MalformedSourceError, SourceMissingError
from ingest.sources.files import parse_choice
from ingest.sources.memory_setup import (
    parse_node_memory,
    parse_swaps,
    read_memory_setup,
)
from tests.ingest.tree import copied, plant

NODES = "sys/devices/system/node"
POOLS = "sys/kernel/mm/hugepages"
FILES = {
    "proc/meminfo": "MemTotal: 528280576 kB\nHugepagesize:       2048 kB\n",
    "proc/swaps": "Filename\tType\tSize\tUsed\tPriority\n"
    "/dev/sda2 partition 8388604 0 -2\n/swap\\040file file 1024 0 5\n",
    f"{NODES}/node0/meminfo": "Node 0 MemTotal: 264055808 kB\nNode 0 Free: 1 kB\n",
    f"{NODES}/node0/cpulist": "0-23\n",
    f"{NODES}/node0/hugepages/hugepages-1048576kB/nr_hugepages": "16\n",
    f"{NODES}/node1/meminfo": "Node 1 MemTotal:       264224768 kB\n",
    f"{NODES}/node1/cpulist": "\n",
    f"{POOLS}/hugepages-2048kB/nr_hugepages": "0\n",
    f"{POOLS}/hugepages-1048576kB/nr_hugepages": "16\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
}


def test_machine_with_two_domains_is_read(tmp_path: Path) -> None:
    assert read_memory_setup(copied(plant(tmp_path, FILES))) == {
        "numa": [
            {
                "os_index": 0,
                "memory": 264055808 * 1024,
                "threads": list(range(24)),
                "huge_pages": [{"size": 1 << 30, "count": 16}],
            },
            {
                "os_index": 1,
                "memory": 264224768 * 1024,
                "threads": [],
                "huge_pages": [],
            },
        ],
        "huge_pages": [
            {"size": 2 << 20, "count": 0},
            {"size": 1 << 30, "count": 16},
        ],
        "default_huge_page": 2 << 20,
        "transparent_huge_pages": "madvise",
        "swap": [
            {
                "name": "/dev/sda2",
                "type": "partition",
                "size": 8388604 * 1024,
                "priority": -2,
            },
            {"name": "/swap file", "type": "file", "size": 1 << 20, "priority": 5},
        ],
    }


def test_missing_kernel_features_are_omitted(tmp_path: Path) -> None:
    found = read_memory_setup(
        copied(plant(tmp_path, {"proc/meminfo": "MemTotal: 1 kB"}))
    )
    assert not any(found.values())
    with pytest.raises(SourceMissingError):
        read_memory_setup(copied(tmp_path / "nowhere"))


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("[none] mq-deadline", "none"),
        ("mq-deadline", "mq-deadline"),
        ("", None),
        (None, None),
    ],
)
def test_choice_is_read_from_brackets(text: str | None, choice: str | None) -> None:
    assert parse_choice(text) == choice


def test_invalid_texts_are_refused() -> None:
    assert parse_node_memory("Knoten 0 MemTotal: 3 MB") is None
    with pytest.raises(MalformedSourceError, match="/proc/swaps has an invalid line"):
        parse_swaps("Filename\n/dev/sda2 partition many 0 -2\n")


def test_memory_setup_of_this_machine_is_read() -> None:
    assert read_memory_setup()["numa"][0]["memory"]
