"""Results compared with theory, and with earlier ones of the host and its model."""

from dataclasses import replace

import pytest

from benchmarks.results import Result
from benchmarks.validation import (
    Earlier,
    earlier_results,
    known_processor,
    validated,
)
from core.stores.endpoint import Endpoint
from tests.queries.cases import FOLDER, load_data
from tests.servers import Fuseki

ZEN3 = known_processor("AuthenticAMD", "25", "1")


def fma(value: float, threads: int = 2, other: float = 0.0) -> Result:
    return Result(
        *("fma", "FLOPS", threads, value, value, 10),
        isa="avx",
        precision="double",
        other=other,
    )


CLOCK = Result("clock", "HZ", 2, 3e9, 3e9, 10, isa="scalar")
# Two cores of 3 GHz with 16 operations per cycle.
THEORY = 2 * 3e9 * 16


def doubts(result: Result, cores: int = 2, governor: str = "") -> tuple[str, ...]:
    return validated([CLOCK, result], cores, ZEN3, governor, {})[1].doubts


@pytest.mark.parametrize(
    ("vendor", "family", "model", "name"),
    [
        ("AuthenticAMD", "23", "1", "Zen and Zen+"),
        ("AuthenticAMD", "23", "49", "Zen 2"),
        ("AuthenticAMD", "25", "1", "Zen 3"),
        ("AuthenticAMD", "25", "17", "Zen 4"),
        ("GenuineIntel", "6", "79", "Haswell and Broadwell"),
        ("GenuineIntel", "6", "106", "Ice Lake and Sapphire Rapids of servers"),
    ],
)
def test_processor_is_found_by_its_numbers(
    vendor: str, family: str, model: str, name: str
) -> None:
    found = known_processor(vendor, family, model)
    assert found
    assert found.name == name
    assert found.source


@pytest.mark.parametrize(
    ("vendor", "family", "model"),
    [("GenuineIntel", "6", "85"), ("AuthenticAMD", "99", "1"), ("", "", "")],
)
def test_processor_without_an_entry_has_no_theory(
    vendor: str, family: str, model: str
) -> None:
    assert known_processor(vendor, family, model) is None
    (_, found) = validated([CLOCK, fma(1.0)], 2, None, "", {})
    assert (found.theory, found.doubts) == (None, ())


def test_theory_uses_the_clock_of_the_same_run() -> None:
    (_, found) = validated([CLOCK, fma(0.95 * THEORY)], 2, ZEN3, "", {})
    assert found.theory == pytest.approx(THEORY)
    assert found.doubts == ()


def test_run_without_a_clock_has_no_theory() -> None:
    (found,) = validated([fma(THEORY)], 2, ZEN3, "", {})
    assert found.theory is None


def test_theory_uses_the_best_clock() -> None:
    slow = replace(CLOCK, value=1e9)
    (_, found) = validated([slow, fma(0.95 * THEORY)], 2, ZEN3, "", {})
    assert (found.theory, found.doubts) == (pytest.approx(THEORY), ())


def test_clock_that_others_disturbed_gives_no_theory_and_says_so() -> None:
    slow = replace(CLOCK, value=1e9, best=1.1e9, other=0.51)
    (clock, found) = validated([slow, fma(THEORY)], 2, ZEN3, "", {})
    assert (found.theory, found.doubts) == (None, ())
    assert clock.doubts == ("no theory of peaks follows from it",)


def test_result_above_theory_is_marked() -> None:
    (doubt,) = doubts(fma(1.05 * THEORY))
    assert doubt.startswith("105% of theory: the clock rose")


def test_low_result_is_marked_with_the_likely_reasons() -> None:
    (doubt,) = doubts(fma(0.5 * THEORY), governor="powersave")
    assert doubt == "50% of theory: the governor powersave may lower the clock"
    (doubt,) = doubts(fma(0.5 * THEORY, other=0.4))
    assert "other programs used 40% of its CPUs" in doubt
    (doubt,) = doubts(fma(0.5 * THEORY, threads=4))
    assert "threads share cores" in doubt
    (doubt,) = doubts(fma(0.5 * THEORY), governor="performance")
    assert "limit of the container" in doubt


def test_change_against_earlier_results_is_marked() -> None:
    triad = Result("triad", "BYTE-PER-SEC", 2, 8e9, 8e9, 10, stores="streaming")
    key = ("triad", "streaming", 2)
    known = Earlier([1e10, 1e10, 1.1e10])
    (found,) = validated([triad], 2, ZEN3, "", {key: known})
    assert found.doubts == ("-20% against the median of 3 earlier results",)
    for few in ({}, {key: Earlier([1e10, 1e10])}, {key: Earlier([8.1e9] * 3)}):
        assert validated([triad], 2, ZEN3, "", few)[0].doubts == ()


def test_difference_from_hosts_of_the_same_model_is_marked() -> None:
    triad = Result("triad", "BYTE-PER-SEC", 2, 8e9, 8e9, 10, stores="streaming")
    key = ("triad", "streaming", 2)
    (found,) = validated([triad], 2, ZEN3, "", {key: Earlier(mean=1e10, hosts=3)})
    expected = "-20% against the mean of 3 other hosts of the same model"
    assert found.doubts == (expected,)
    one_host = {key: Earlier(mean=1e10, hosts=1)}
    assert validated([triad], 2, ZEN3, "", one_host)[0].doubts == ()


@pytest.mark.filterwarnings(
    "ignore:(Dataset.default_context|Dataset.contexts|ConjunctiveGraph) is deprecated"
)
def test_earlier_results_are_those_of_the_host_and_of_its_model(
    emptied_fuseki: Fuseki,
) -> None:
    data = load_data(FOLDER / "hosts" / "benchmarks.trig")
    with Endpoint(f"{emptied_fuseki.url}/twin") as twin:
        for graph in data.graphs():
            twin.put_graph(str(graph.identifier), graph)
        found = earlier_results(twin, "n1", "stream")
    assert found["triad", "streaming", 2] == Earlier([180.0], 210.0, 2)
    assert found["triad", "streaming", 1] == Earlier([120.0])
