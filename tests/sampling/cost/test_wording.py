"""Costs in words: no exponents, and no unit that rounding makes wrong."""

import pytest

from sampling.cost.wording import as_bytes, as_number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (0.001, "0 B"),
        (17, "17 B"),
        (999.4, "999 B"),
        (999.7, "1 kB"),
        (1234, "1.23 kB"),
        (999_700, "1 MB"),
        (123_456_789, "123 MB"),
        (1_234e15, "1234 PB"),
    ],
)
def test_bytes_have_units(value: float, text: str) -> None:
    assert as_bytes(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.0004, "0"),
        (0.00123, "0.00123"),
        (2.5, "2.5"),
        (99.96, "100"),
        (1_234_567.9, "1,234,568"),
    ],
)
def test_numbers_are_rounded(value: float, text: str) -> None:
    assert as_number(value) == text
