"""What main memory could deliver, from modules as firmware names them."""

from dataclasses import replace
from typing import Any

import pytest

from benchmarks.memory_theory import MemoryLimit, bandwidth
from benchmarks.results import Result
from benchmarks.validation import validated

RATE = 3_200_000_000


def modules(*slots: str, bank: str = "", rate: int | None = RATE) -> list[Any]:
    return [
        {"slot": slot, "bankLocator": bank, "rate": rate, "width": 64} for slot in slots
    ]


def socket(model: str, name: str) -> dict[str, str]:
    return {"vendor": "AuthenticAMD", "family": "25", "model": model, "name": name}


MILAN = socket("1", "AMD EPYC 7763 64-Core Processor")


@pytest.mark.parametrize(
    ("slots", "channels"),
    [
        (["Controller0-ChannelA-DIMM0", "Controller1-ChannelA-DIMM0"], 2),
        (["ChannelA-DIMM0", "ChannelA-DIMM1", "ChannelB-DIMM0", "ChannelB-DIMM1"], 2),
        (["P0_Node0_Channel0_Dimm0", "P0_Node0_Channel10_Dimm0"], 2),
        (["P1-DIMMA1", "P1-DIMMA2", "P1-DIMMB1", "P2-DIMMA1"], 3),
        (["CPU0_DIMM_A1", "CPU0_DIMM_B1", "CPU1_DIMM_A1"], 3),
        # These do not say which channel they are on.
        (["A1", "A2", "A3"], 3),
    ],
)
def test_channels_are_counted_once(slots: list[str], channels: int) -> None:
    assert bandwidth(modules(*slots), []) == channels * RATE * 8


def test_banks_may_name_the_channels() -> None:
    banks = [*modules("DIMM 0", "DIMM 1", bank="P0 CHANNEL A")]
    banks += modules("DIMM 0", bank="P0 CHANNEL B")
    assert bandwidth(banks, [MILAN]) == 2 * RATE * 8


def test_processor_limits_the_channels() -> None:
    slots = modules(*(f"A{number}" for number in range(1, 17)))
    assert bandwidth(slots, [MILAN]) == 8 * RATE * 8
    assert bandwidth(slots, [MILAN, MILAN]) == 16 * RATE * 8
    assert bandwidth(slots, [socket("17", "AMD EPYC 9654")]) == 12 * RATE * 8
    assert bandwidth(slots, [socket("17", "Ryzen")]) == 16 * RATE * 8


def test_slowest_module_decides() -> None:
    mixed = [*modules("A1"), *modules("B1", rate=RATE // 2)]
    assert bandwidth(mixed, []) == 2 * RATE // 2 * 8


def test_unknown_rates_give_no_theory() -> None:
    assert bandwidth([], [MILAN]) is None
    assert bandwidth(modules("A1", rate=None), [MILAN]) is None


LOAD = Result("load", "BYTE-PER-SEC", 2, 1e11, 1e11, 10, level="DRAM")


def checked(result: Result, *, is_whole: bool = True) -> Result:
    limit = MemoryLimit(2e11, is_whole)
    return validated([result], 2, None, "", {}, limit)[0]


def test_bandwidth_of_main_memory_is_compared_with_theory() -> None:
    found = checked(LOAD)
    assert found.theory == 2e11
    assert "50% of theory of the memory" in found.doubts[0]
    assert not checked(LOAD, is_whole=False).doubts
    fast = replace(LOAD, value=2.1e11)
    assert "caches hold a part of it" in checked(fast, is_whole=False).doubts[0]


def test_ordinary_stores_move_more_and_caches_have_no_such_theory() -> None:
    ordinary = replace(LOAD, kernel="triad", level="", stores="write-allocate")
    assert (checked(ordinary).theory, checked(ordinary).doubts) == (2e11, ())
    assert checked(replace(ordinary, stores="streaming")).doubts
    for level in ("L3", "remote DRAM"):
        assert checked(replace(LOAD, level=level)).theory is None
