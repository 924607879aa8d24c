"""The output of `make bench`, and when it is printed."""

import re
from collections.abc import Iterator

import pytest

from bench.__main__ import main
from bench.table import Figure, print_rows


def test_row_is_printed_before_the_next_measurement(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def measured() -> Iterator[Figure]:
        yield Figure("one", 1, "s", 2)
        assert "| one " in capfd.readouterr().out
        yield Figure("two", 2, "s", at_least=True)

    print_rows(measured())
    assert capfd.readouterr().out.startswith("| two ")


def test_unknown_part_is_refused_and_lists_the_known(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--only", "speed"])
    assert ended.value.code == 2
    # Python 3.12 no longer quotes the choices.
    assert re.search("choose from '?bridge", capsys.readouterr().err)
