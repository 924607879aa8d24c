"""The order in which pages list things."""

import pytest

from api.web.pages import natural


@pytest.mark.parametrize(
    "ordered",
    [
        ["thread 9", "thread 10", "thread 10a"],
        ["big", "quiet"],
        ["node", "node1", "node02", "node2b", "node10"],
        ["", "1", "a"],
        ["x" + "9" * 5000, "x1" + "0" * 5000],
    ],
    ids=lambda names: names[0][:20],
)
def test_numbers_in_names_count_as_numbers(ordered: list[str]) -> None:
    backwards = ordered[::-1]
    assert sorted(backwards, key=natural) == ordered
