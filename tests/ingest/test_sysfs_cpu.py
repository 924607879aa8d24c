"""Clocks, caches and NUMA distances, from trees that imitate /sys."""

from pathlib import Path

import pytest

from ingest.errors import MalformedSourceError, SourceMissingError
from ingest.sources.sysfs_cpu import (
    parse_numa_distances,
    read_cache_sets,
    read_clocks,
    read_numa_distances,
)
from tests.ingest.tree import copied, plant

CPUS = "sys/devices/system/cpu"
NODES = "sys/devices/system/node"


def test_clocks_are_in_hertz(tmp_path: Path) -> None:
    folder = f"{CPUS}/cpu10/cpufreq"
    root = plant(
        tmp_path,
        {
            f"{folder}/base_frequency": "2600000\n",
            f"{folder}/cpuinfo_min_freq": "800000\n",
            f"{folder}/cpuinfo_max_freq": "3500000\n",
            f"{folder}/scaling_governor": "performance\n",
            f"{CPUS}/cpu2/cpufreq/scaling_governor": "powersave\n",
            f"{CPUS}/cpu2/acpi_cppc/nominal_freq": "2300\n",
            f"{CPUS}/cpu3/online": "0\n",
            f"{CPUS}/cpufreq/policy0/scaling_governor": "none of ours\n",
        },
    )
    assert read_clocks(copied(root)) == {
        "2": {
            "base": 2_300_000_000,
            "min": None,
            "max": None,
            "governor": "powersave",
        },
        "10": {
            "base": 2_600_000_000,
            "min": 800_000_000,
            "max": 3_500_000_000,
            "governor": "performance",
        },
    }


def test_missing_clocks_are_reported(tmp_path: Path) -> None:
    with pytest.raises(SourceMissingError, match="cpufreq does not exist"):
        read_clocks(copied(plant(tmp_path, {f"{CPUS}/cpu0/online": "1"})))


def cache(cpu: int, index: int, level: int, kind: str, shared: str) -> dict[str, str]:
    folder = f"{CPUS}/cpu{cpu}/cache/index{index}"
    values = {
        "level": level,
        "type": kind,
        "shared_cpu_list": shared,
        "number_of_sets": 64,
        "coherency_line_size": 64,
        "ways_of_associativity": 0,
    }
    return {f"{folder}/{name}": f"{value}\n" for name, value in values.items()}


def test_shared_cache_is_listed_once(tmp_path: Path) -> None:
    files = {f"{CPUS}/cpu0/cache/index9/size": "1K"}
    for cpu in (0, 1):
        files |= cache(cpu, 0, 1, "Data", str(cpu))
        files |= cache(cpu, 1, 2, "Unified", "0-1")
    caches = read_cache_sets(copied(plant(tmp_path, files)))
    assert [(c["level"], c["type"], c["threads"]) for c in caches] == [
        (1, "data", [0]),
        (2, "unified", [0, 1]),
        (1, "data", [1]),
    ]
    assert (caches[0]["sets"], caches[0]["line"], caches[0]["ways"]) == (64, 64, None)


def test_missing_caches_are_reported(tmp_path: Path) -> None:
    with pytest.raises(SourceMissingError, match="cache does not exist"):
        read_cache_sets(copied(tmp_path))


def test_distances_with_gaps_in_domain_numbers_are_read(
    tmp_path: Path,
) -> None:
    root = plant(
        tmp_path,
        {
            f"{NODES}/node0/distance": "10 21\n",
            f"{NODES}/node8/distance": "31 10\n",
            f"{NODES}/online": "0,8\n",
        },
    )
    assert read_numa_distances(copied(root)) == [
        {"from": 0, "to": 0, "value": 10},
        {"from": 0, "to": 8, "value": 21},
        {"from": 8, "to": 0, "value": 31},
        {"from": 8, "to": 8, "value": 10},
    ]


@pytest.mark.parametrize("row", ["10", "10 x", "10 20 30", "10 ²", "10 2_0"])
def test_damaged_row_is_refused(row: str) -> None:
    with pytest.raises(MalformedSourceError, match="not 2 numbers"):
        parse_numa_distances({0: row, 1: "20 10"})


def test_missing_domains_are_reported(tmp_path: Path) -> None:
    with pytest.raises(SourceMissingError, match="without CONFIG_NUMA"):
        read_numa_distances(copied(tmp_path))
