"""Numbers are accepted only in the forms that machines write."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ontology.numbers import read_decimal, read_hexadecimal, read_whole

NO_NUMBERS = ["", " 1", "1\n", "1_0", "+1", "٣", "１", "²", "0o1", "one", "--1", "0x"]


@given(st.integers(-(10**19), 10**19))
def test_whole_numbers_round_trip(number: int) -> None:
    assert read_whole(str(number)) == number


@given(st.integers(0, 2**64 - 1))
def test_hexadecimal_numbers_round_trip(number: int) -> None:
    assert read_hexadecimal(hex(number)) == read_hexadecimal(f"{number:X}") == number


@given(st.floats(-1e15, 1e15))
def test_decimal_numbers_round_trip(number: float) -> None:
    assert read_decimal(f"{number:.9f}") == float(f"{number:.9f}")
    assert read_decimal(f"{number:.15e}") == float(f"{number:.15e}")


@pytest.mark.parametrize("text", [*NO_NUMBERS, "1.5", "0x1", "9" * 21])
def test_invalid_whole_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a whole number"):
        read_whole(text)


@pytest.mark.parametrize("text", [*NO_NUMBERS, "-0x1", "0x0x1", "f" * 17])
def test_invalid_hexadecimal_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a hexadecimal number"):
        read_hexadecimal(text)


@pytest.mark.parametrize("text", [*NO_NUMBERS, "nan", "inf", "1e", ".5", "1e1000"])
def test_invalid_decimal_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a number"):
        read_decimal(text)
