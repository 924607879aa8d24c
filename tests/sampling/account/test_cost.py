"""The quantiles of what is measured while sampling."""

import random

from sampling.account.cost import QUANTILES, Latency


def test_quantiles_are_those_of_the_last_thousand_calls() -> None:
    latency, given = Latency(), [random.random() for _ in range(2500)]
    assert latency.quantiles() == {}
    for seconds in given:
        latency.add(seconds)
    ordered = sorted(given[-1000:])
    assert latency.quantiles() == {
        name: round(ordered[round(share * 999)], 6) for name, share in QUANTILES.items()
    }


def test_equal_durations_leave_one_by_one() -> None:
    latency = Latency()
    for seconds in [1.0] * 3 + [2.0] * 999:
        latency.add(seconds)
    assert latency.quantiles({"least": 0.0}) == {"least": 1.0}
    for _ in range(2):
        latency.add(2.0)
    assert latency.quantiles({"least": 0.0}) == {"least": 2.0}
