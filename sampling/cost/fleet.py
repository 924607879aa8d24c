"""What a fleet costs, in words and as JSON: one bridge, one store, many hosts."""

from collections.abc import Iterator, Mapping
from typing import Any

from ontology.figures import figures
from sampling.cost.estimate import CostEstimate
from sampling.cost.fit import PredictionInterval
from sampling.cost.load import BRIDGE, STORE, SamplingLoad
from sampling.cost.model import CostModel
from sampling.cost.wording import as_bytes, as_number, basis_document, line


def fleet_lines(
    hosts: Mapping[str, int], load: SamplingLoad, cost: CostEstimate, kept: float
) -> Iterator[str]:
    """Describe the cost of so many hosts of each name, and ``kept`` days of points."""
    number = sum(hosts.values())
    names = [*hosts]
    like = f" like {names[0]}" if names and number > len(names) else ""
    yield f"{number:,} {'host' if number == 1 else 'hosts'}{like}:"
    yield line("points", f"{as_number(load.points)} /s", f"in {load.series:,} series")
    yield _cpu(
        "CPU of a host", _on_a_host(cost), "of one core, PMCD and agents, on average"
    )
    for part in (BRIDGE, STORE):
        yield _cpu(f"CPU of {part}", cost.cpu[part], "of one core")
        yield _size(f"memory of {part}", cost.memory[part])
    yield _size("disk a day", cost.disk)
    yield _size(f"disk in {figures(kept)} days", cost.disk.times(kept))
    network = as_bytes(load.secured)
    yield line("network", f"{network}/s", "to the bridge, if all hosts are behind ssh")


def fleet_document(
    hosts: Mapping[str, int],
    load: SamplingLoad,
    cost: CostEstimate,
    kept: float,
    model: CostModel,
) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "hosts": dict(hosts),
        "points_per_second": load.points,
        "series": load.series,
        "ssh_bytes_per_second": load.secured,
        "not_counted": sorted(load.unknown),
        "retention_days": kept,
        "cpu_percent_of_a_core": {
            "host": _on_a_host(cost)._asdict(),
            **{part: cost.cpu[part]._asdict() for part in (BRIDGE, STORE)},
        },
        "memory_bytes": {part: of._asdict() for part, of in cost.memory.items()},
        "disk_bytes_per_day": cost.disk._asdict(),
        "disk_bytes_in_retention": cost.disk.times(kept)._asdict(),
        "calibration": basis_document(model),
    }


def _on_a_host(cost: CostEstimate) -> PredictionInterval:
    return cost.cpu_of(part for part in cost.fitted if part not in (BRIDGE, STORE))


def _cpu(what: str, of: PredictionInterval, more: str) -> str:
    ends = f"{as_number(of.low)} to {as_number(of.high)} %, {more}"
    return line(what, f"{as_number(of.value)} %", ends)


def _size(what: str, of: PredictionInterval) -> str:
    return line(what, as_bytes(of.value), f"{as_bytes(of.low)} to {as_bytes(of.high)}")
