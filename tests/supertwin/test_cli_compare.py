"""Comparisons as text: what differs is seen, however long it is."""

from collections.abc import Sequence

import pytest

from supertwin.cli.compare import lines
from supertwin.comparing import Comparison, Group

_RUN = {"command": "true", "host": "n1", "policy": "", "outcome": "completed"}
_FLAGS = "-O3 " * 40


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([["on"], ["off"]], ["on", "off"]),
        ([["on"], []], ["on", "nothing"]),
        ([["a", "b", "c"], ["a", "c", "d"]], ["b", "d"]),
        ([["a", "b"], ["a"]], ["b", "nothing else"]),
        (
            [[_FLAGS + "-g"], [_FLAGS + "-march=native"]],
            ["…O3 -O3 -O3 -O3 -O3 -g", "…O3 -O3 -O3 -O3 -O3 -march=native"],
        ),
        ([["x" * 70], ["y"]], ["x" * 60 + "…", "y"]),
        ([["x" * 70], []], ["x" * 60 + "…", "nothing"]),
    ],
)
def test_what_differs_is_seen(values: Sequence[Sequence[str]], told: list[str]) -> None:
    groups = [Group("one", [_RUN], {}, {}), Group("other", [_RUN], {}, {})]
    found = list(lines(Comparison(groups, [], {"http://here/ns#flags": values})))
    assert found[-3:] == ["  flags", *(f"    {n}: {t}" for n, t in enumerate(told, 1))]
