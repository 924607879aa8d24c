"""The types of values in a probe document; each error names the expected type."""

import math
import re
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, PlainValidator
from pydantic_core import PydanticCustomError, PydanticUseDefault

from ingest.hwloc.xml import MAX_CPUS
from ontology.iris import IdError, encode_id

_LARGEST = 2**64
_CACHE_TYPES = ("data", "instruction", "unified")
_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
    r"(Z|[+-][0-9]{2}:[0-9]{2})?"
)
_HEX = re.compile(r"[0-9a-fA-F]{1,8}")
_T = TypeVar("_T")


def _of(expected: str, fits: Callable[[Any], bool]) -> PlainValidator:
    def check(value: Any) -> Any:
        if not fits(value):
            raise PydanticCustomError("form", expected)
        return value

    return PlainValidator(check)


def _default_for_null(value: Any) -> Any:
    if value is None:
        raise PydanticUseDefault
    return value


def _is_whole(value: Any) -> bool:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return whole and abs(value) < _LARGEST


def _is_index(value: Any) -> bool:
    return _is_whole(value) and 0 <= value < MAX_CPUS


def _is_number(value: Any) -> bool:
    return _is_whole(value) or (isinstance(value, float) and math.isfinite(value))


def _is_name(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(encode_id(value))
    except IdError:
        return False


def _is_time(value: Any) -> bool:
    try:
        return bool(_TIME.fullmatch(value) and datetime.fromisoformat(value))
    except (TypeError, ValueError):
        return False


def _is_hex(value: Any) -> bool:
    return isinstance(value, str) and bool(_HEX.fullmatch(value))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


Text = Annotated[str, _of("a text", _is_text)]
Name = Annotated[str, _of("a name", _is_name)]
Time = Annotated[str, _of("a time such as 2026-11-21T08:00:00+00:00", _is_time)]
Hex = Annotated[str, _of("hexadecimal digits, 8 at most", _is_hex)]
Whole = Annotated[int, _of("a whole number", _is_whole)]
Index = Annotated[int, _of(f"a whole number from 0 to {MAX_CPUS - 1}", _is_index)]
Number = Annotated[float, _of("a number", _is_number)]
Truth = Annotated[bool, _of("true or false", lambda value: isinstance(value, bool))]
# A text that is not checked; any other value counts as unknown.
AnyText = Annotated[
    str | None, PlainValidator(lambda value: value if _is_text(value) else None)
]
# A part that may be null, which means the same as a missing key: its default.
OrDefault = Annotated[_T, BeforeValidator(_default_for_null)]

CacheType = Annotated[
    str,
    _of("data, instruction or unified", lambda value: value in _CACHE_TYPES),
]
