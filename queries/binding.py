"""Parameters of saved queries: their types, and values as SPARQL terms.

A value is checked and then written as one whole RDF term; it is never spliced into the
text of a query.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from queries.errors import ParameterError

Scalar = str | int | float | bool

UNDEF: Final = "UNDEF"
# The type of an IRI of a run; `queries.run_ids` also accepts ids and groups.
RUN: Final = "run"

_DECIMAL = "http://www.w3.org/2001/XMLSchema#decimal"
_LARGEST = 10**400

_INTEGER = re.compile(r"[+-]?[0-9]{1,400}")
_NUMBER = re.compile(
    r"[+-]?([0-9]{1,400}(\.[0-9]{0,400})?|\.[0-9]{1,400})(e[+-]?[0-9]{1,3})?"
)
IRI_PATTERN: Final = r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\\x7f-\x9f]*"
_ABSOLUTE_IRI = re.compile(IRI_PATTERN)
_SURROGATE = re.compile("[\ud800-\udfff]")

# The letter after a backslash is written as a code point: some engines expand \uXXXX
# before they parse, and would take an escaped backslash and a "u" for an escape.
_SPECIAL = re.compile(r'\\[uU]?|["\n\r\t\b\f]')
_ESCAPES = {
    "\\": r"\\",
    "\\u": r"\\\U00000075",
    "\\U": r"\\\U00000055",
    '"': r"\"",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
    "\b": r"\b",
    "\f": r"\f",
}


@dataclass(frozen=True)
class Param:
    """One parameter of a saved query; without a default it is left UNDEF.

    If a host parameter is ``everywhere``, it is left open on the command line, too,
    instead of being this host.
    """

    name: str
    type: str
    default: Scalar | None = None
    enum: tuple[Scalar, ...] = ()
    description: str = ""
    everywhere: bool = False


def serialise(param: Param, value: Scalar | None) -> str:
    """Write the value as one SPARQL term, ``UNDEF`` for None.

    Text is converted to the parameter's type. Raises ParameterError.
    """
    if value is None:
        return UNDEF
    converted = convert(param, value)
    if param.enum and converted not in param.enum:
        raise _refusal(param, value, f"one of {', '.join(map(str, param.enum))}")
    return _term(param.type, converted)


def convert(param: Param, value: Scalar) -> Scalar:
    """Convert the value to the parameter's type; raises ParameterError."""
    expected, read = _READERS[param.type]
    converted = read(value)
    if converted is None:
        raise _refusal(param, value, expected)
    return converted


def _refusal(param: Param, value: Scalar, expected: str) -> ParameterError:
    if isinstance(value, int) and abs(value) >= _LARGEST:
        shown = "more digits than any count has"
    else:
        shown = repr(value) if len(repr(value)) <= 60 else f"{repr(value)[:56]} …"
    return ParameterError(f"{shown} given, expected {expected}", param.name)


def _read_string(value: Scalar) -> str | None:
    return value if isinstance(value, str) and not _SURROGATE.search(value) else None


def _read_integer(value: Scalar) -> int | None:
    if isinstance(value, str):
        text = value.strip(" ")
        return int(text) if _INTEGER.fullmatch(text) else None
    if isinstance(value, int) and not isinstance(value, bool):
        return value if abs(value) < _LARGEST else None
    return None


def _read_number(value: Scalar) -> int | float | None:
    if isinstance(value, str):
        text = value.strip(" ").lower()
        if not _NUMBER.fullmatch(text):
            return None
        value = int(text) if _INTEGER.fullmatch(text) else float(text)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return _read_integer(value)


def _read_boolean(value: Scalar) -> bool | None:
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip(" ").lower())
    return value if isinstance(value, bool) else None


def _read_iri(value: Scalar) -> str | None:
    if isinstance(value, str) and _ABSOLUTE_IRI.fullmatch(value):
        return _read_string(value)
    return None


_READERS: Final[dict[str, tuple[str, Callable[[Scalar], Scalar | None]]]] = {
    "string": ("a text", _read_string),
    "integer": ("a whole number", _read_integer),
    "number": ("a finite number", _read_number),
    "boolean": ("true or false", _read_boolean),
    "iri": ('an absolute IRI without spaces or any of <>"{}|^`\\', _read_iri),
    RUN: ("the id or IRI of a run or group", _read_iri),
}

PARAM_TYPES: Final = tuple(_READERS)


def _term(type_: str, value: Scalar) -> str:
    if type_ in ("iri", RUN):
        return f"<{value}>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + _SPECIAL.sub(lambda match: _ESCAPES[match[0]], value) + '"'
    text = repr(value)
    # Written out, since rdflib cannot parse a bare negative decimal.
    negative_decimal = isinstance(value, float) and value <= 0 and "e" not in text
    return f'"{text}"^^<{_DECIMAL}>' if negative_decimal else text
