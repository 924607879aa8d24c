"""Reads samples of one series from CSV, with columns ``time`` and ``value``."""

import csv
import io
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from core.stores.points import Points
from observations.errors import (
    SampleExistsError,
    SampleFileError,
    SampleOrderError,
    SampleUnitError,
)
from ontology.unit_symbols import unit_symbol
from queries.sample_times import absolute_ms, utc_text

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_VALUE = re.compile(r"value(?: *\[([^\]]*)\])?")
_HEAD = "time,value or time,value [unit]"
# The store keeps about twelve digits of a value.
_EQUAL = 1e-11
# Unix milliseconds, value, and line.
_Sample = tuple[int, float, int]


class MetricUnit(NamedTuple):
    """The unit of a metric: QUDT's IRI, and PCP's text; empty if unknown."""

    iri: str
    pcp: str

    @property
    def names(self) -> Sequence[str]:
        """How the unit may be written: symbol, name in QUDT, IRI, PCP's text."""
        found = (
            *(unit_symbol(self.iri) or "", self.iri.rpartition("/")[2]),
            *(self.iri, self.pcp),
        )
        return [*dict.fromkeys(name for name in found if name)]


class SampleFile(NamedTuple):
    """The points of a file, and the line of each."""

    points: Points
    lines: Sequence[int]


def read_samples(
    content: bytes, unit: MetricUnit, oldest_ms: int, now_ms: int
) -> SampleFile:
    """Return the samples of a file; raises SampleFileError, which names the line.

    The times, ISO 8601 (UTC without a zone) or Unix seconds, must rise from line to
    line and be within [oldest, now].
    """
    text = io.TextIOWrapper(io.BytesIO(content), "utf-8-sig", newline="")
    rows = csv.reader(text, strict=True)
    try:
        _check_head(next(rows, []), unit)
        file = _collected(_in_order(_samples(rows), oldest_ms, now_ms))
    except UnicodeDecodeError:
        raise SampleFileError("the file is not UTF-8: save it as UTF-8") from None
    except csv.Error as error:
        raise SampleFileError(f"line {rows.line_num} is not CSV: {error}") from None
    if not file.lines:
        raise SampleFileError(f"the file has no samples below its header {_HEAD}")
    return file


def _collected(samples: Iterable[_Sample]) -> SampleFile:
    # Lists of Python numbers would take ten times the memory of the file.
    stamps, values, lines = array("q"), array("d"), array("q")
    for stamp, value, line in samples:
        stamps.append(stamp)
        values.append(value)
        lines.append(line)
    points = Points(np.array(stamps, np.int64), np.array(values, np.float64))
    return SampleFile(points, lines)


def check_new(file: SampleFile, existing: Points) -> None:
    """Raise SampleExistsError if a series has another value at the time of a sample.

    The store would keep the greater of the two.
    """
    _, new, old = np.intersect1d(
        file.points.stamps, existing.stamps, return_indices=True
    )
    given, known = file.points.values[new], existing.values[old]
    differs = ~np.isclose(given, known, rtol=_EQUAL, atol=0)
    if differs.any():
        first = int(np.argmax(differs))
        line, time = (
            file.lines[new[first]],
            utc_text(int(file.points.stamps[new[first]])),
        )
        raise SampleExistsError(
            f"line {line}: the series has {known[first]:g} at {time}, not "
            f"{given[first]:g}: delete the span first"
        )


def _check_head(head: Sequence[str], unit: MetricUnit) -> None:
    names = [name.strip() for name in head]
    value = _VALUE.fullmatch(names[1]) if len(names) == 2 else None
    if value is None or names[0] != "time":
        shown = ",".join(head)[:80]
        raise SampleFileError(f"line 1 is {shown!r}; the header is {_HEAD}")
    given = value[1]
    if given is None or given.strip() in unit.names:
        return
    expected = unit.names
    what = (
        f"the unit of the metric is {' or '.join(expected)}: convert the values"
        if expected
        else "the metric has no known unit: leave the unit out"
    )
    raise SampleUnitError(f"line 1: values are in {given.strip()[:40]!r}, but {what}")


def _samples(rows: "Iterator[list[str]]") -> Iterator[_Sample]:
    for row in rows:
        line: int = rows.line_num  # type: ignore[attr-defined]
        if not row:
            continue
        if len(row) != 2:
            raise SampleFileError(f"line {line} has {len(row)} columns instead of 2")
        yield _time(row[0].strip(), line), _value(row[1].strip(), line), line


def _time(text: str, line: int) -> int:
    found = absolute_ms(text.replace(" ", "T", 1))
    if found is None:
        raise SampleFileError(
            f"line {line}: {text[:40]!r} is not a time: write ISO 8601, such as "
            "2026-11-18T00:00:00Z, or Unix seconds"
        )
    return found


def _value(text: str, line: int) -> float:
    number = float(text) if _NUMBER.fullmatch(text) else float("nan")
    if not np.isfinite(number):
        raise SampleFileError(f"line {line}: {text[:40]!r} is not a finite number")
    return number


def _in_order(
    samples: Iterable[_Sample], oldest_ms: int, now_ms: int
) -> Iterator[_Sample]:
    """Pass on samples while their times rise, within [oldest, now]."""
    before, line_before = -1, 0
    for at, value, line in samples:
        if at <= before:
            same = "the same time as" if at == before else "earlier than"
            raise SampleOrderError(
                f"line {line}: {utc_text(at)} is {same} line {line_before}: sort the "
                "file by time, with each time once"
            )
        if at > now_ms:
            raise SampleFileError(f"line {line}: {utc_text(at)} is in the future")
        if at < oldest_ms:
            raise SampleFileError(
                f"line {line}: {utc_text(at)} is older than the retention "
                f"(SUPERTWIN_RETENTION), which begins at {utc_text(oldest_ms)}"
            )
        yield at, value, line
        before, line_before = at, line
