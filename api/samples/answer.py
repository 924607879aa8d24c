"""Writes the rows of a query for samples in each media type."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from api.samples.media_types import ARROW, CSV, PARQUET
from core.stores.errors import TooLargeError
from observations.exchange.tables import arrow_bytes, csv_bytes, parquet_bytes
from ontology.terms import PREFIXES
from queries.sample_calls import COVERAGE, SampleCall

if TYPE_CHECKING:
    import pyarrow as pa

# Longer integers are not exact where numbers are doubles.
_DIGITS = 15
_AT_ONCE = 10_000
_SOSA = "http://www.w3.org/ns/sosa/"


@dataclass(frozen=True)
class TelemetryLinks:
    """What the graph says of telemetry; empty where it says nothing."""

    metric: str = ""
    component: str = ""
    unit: str = ""


@dataclass(frozen=True)
class SampleRows:
    """The rows of a call, in the order of ``telemetry`` and of their times.

    ``named``: a table has a column with the telemetry. ``most_bytes`` limits an answer.
    """

    call: SampleCall
    telemetry: Sequence[str]
    table: "pa.Table"
    named: bool
    most_bytes: int


def read_rows(body: bytes, call: SampleCall) -> "pa.Table":
    """Return the CSV that Fuseki answers as a table, sorted by telemetry and time."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    types = {
        **{"n": pa.int32(), "time": pa.timestamp("ms", "UTC"), "value": pa.string()},
        **{"number": pa.bool_(), "present": pa.int64(), "expected": pa.int64()},
        "why": pa.string(),
    }
    table = arrow_csv.read_csv(
        BytesIO(body),
        parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            column_types={name: types[name] for name in call.columns},
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[""],
        ),
    )
    return table.sort_by([("n", "ascending"), ("time", "ascending")])


def written(rows: SampleRows, media_type: str) -> bytes:
    """Return the rows as a table; raises TooLargeError."""
    if media_type == CSV:
        return _checked(rows, _csv(rows))
    table = _typed(rows)
    return _checked(
        rows,
        {PARQUET: parquet_bytes, ARROW: arrow_bytes}[media_type](table),
    )


def _csv(rows: SampleRows) -> bytes:
    columns = [name for name in rows.call.columns if name not in ("n", "number")]
    head = ["telemetry", *columns] if rows.named else columns
    return csv_bytes(head, (row for part in _parts(rows) for row in _csv_rows(part)))


def _csv_rows(rows: SampleRows) -> Iterator[tuple[object, ...]]:
    names = [_names(rows)] if rows.named else []
    others = [name for name in rows.table.column_names if name in ("value", *COVERAGE)]
    columns = [rows.table[name].to_pylist() for name in others]
    return zip(*names, _times(rows), *columns, strict=True)


def _parts(rows: SampleRows) -> Iterator[SampleRows]:
    """Divide the rows: as Python objects, they take ten times the memory."""
    for at in range(0, rows.table.num_rows, _AT_ONCE):
        yield replace(rows, table=rows.table.slice(at, _AT_ONCE))


def _times(rows: SampleRows) -> list[str]:
    stamps = rows.table["time"].cast("int64").to_numpy().view("datetime64[ms]")
    found: list[str] = np.datetime_as_string(stamps, unit="ms", timezone="UTC").tolist()
    return found


def _names(rows: SampleRows) -> list[str]:
    return [rows.telemetry[n] for n in rows.table["n"].to_pylist()]


def _typed(rows: SampleRows) -> "pa.Table":
    """Values as numbers; texts, if there are any, are in a column ``text``."""
    import pyarrow as pa
    from pyarrow import compute

    table, columns = rows.table, {}
    if rows.named:
        index = table["n"].combine_chunks()
        names = pa.DictionaryArray.from_arrays(index, pa.array([*rows.telemetry]))
        columns["telemetry"] = names
    columns["time"], value = table["time"], table["value"]
    if "number" in table.column_names:
        is_number, nothing = table["number"], pa.scalar(None, pa.string())
        if not compute.all(is_number).as_py() and table.num_rows:
            columns["value"] = None
            columns["text"] = compute.if_else(is_number, nothing, value)
            value = compute.if_else(is_number, value, nothing)
    columns["value"] = compute.cast(value, pa.float64())
    rest = [name for name in COVERAGE if name in table.column_names]
    columns |= {name: table[name] for name in rest}
    return pa.table(columns)


def json_ld(rows: SampleRows, base: str, links: Sequence[TelemetryLinks]) -> bytes:
    """Return the rows as a list of sosa:Observation; raises TooLargeError.

    The members of coverage have no meaning in RDF.
    """
    root = f"{base.rstrip('/')}/"
    about = [
        _links(iri, one, root) for iri, one in zip(rows.telemetry, links, strict=True)
    ]
    body = bytearray(orjson.dumps({"@context": _context(root), "@graph": []})[:-2])
    for part in _parts(rows):
        body += b"," if body[-1:] == b"}" else b""
        body += orjson.dumps([*_observations(part, about)])[1:-1]
        _check(rows, body)
    return bytes(body + b"]}")


def _links(iri: str, links: TelemetryLinks, root: str) -> dict[str, str]:
    found = {
        "isPartOf": iri,
        "observedProperty": links.metric,
        "hasFeatureOfInterest": links.component,
        "hasUnit": links.unit,
    }
    return {name: one.removeprefix(root) for name, one in found.items() if one}


def _observations(
    rows: SampleRows, about: Sequence[dict[str, str]]
) -> Iterator[dict[str, Any]]:
    table = rows.table
    values = table["value"].to_pylist()
    is_number = (
        table["number"].to_pylist()
        if "number" in table.column_names
        else [True] * len(values)
    )
    coverage = [name for name in COVERAGE if name in table.column_names]
    more = [table[name].to_pylist() for name in coverage]
    places = table["n"].to_pylist()
    for at, time in enumerate(_times(rows)):
        found: dict[str, Any] = {"@type": "Observation", **about[places[at]]}
        found["resultTime"] = time
        if values[at] is not None:
            found["hasSimpleResult"] = _value(values[at], is_number[at])
        for name, column in zip(coverage, more, strict=True):
            if column[at] is not None:
                found[name] = column[at]
        yield found


def _value(text: str, is_number: bool) -> Any:
    if not is_number:
        return text
    digits = text.removeprefix("-")
    if digits.isdecimal() and len(digits) > _DIGITS:
        return {"@value": text, "@type": "xsd:integer"}
    number = int(text) if digits.isdecimal() else float(text)
    return number if isfinite(number) else {"@value": text, "@type": "xsd:double"}


def _context(root: str) -> dict[str, Any]:
    sosa, iri = _SOSA, {"@type": "@id"}
    return {
        "@base": root,
        "xsd": PREFIXES["xsd"],
        "Observation": f"{sosa}Observation",
        "resultTime": {"@id": f"{sosa}resultTime", "@type": "xsd:dateTime"},
        "hasSimpleResult": f"{sosa}hasSimpleResult",
        "observedProperty": {"@id": f"{sosa}observedProperty", **iri},
        "hasFeatureOfInterest": {"@id": f"{sosa}hasFeatureOfInterest", **iri},
        "isPartOf": {"@id": f"{PREFIXES['dcterms']}isPartOf", **iri},
        "hasUnit": {"@id": f"{PREFIXES['qudt']}hasUnit", **iri},
    }


def _checked(rows: SampleRows, body: bytes) -> bytes:
    _check(rows, body)
    return body


def _check(rows: SampleRows, body: bytes | bytearray) -> None:
    if len(body) > rows.most_bytes:
        raise TooLargeError(
            f"the answer has more than {rows.most_bytes} bytes: ask for a shorter "
            "range, a longer step, or CSV or Parquet, or raise "
            "SUPERTWIN_QUERY_MAX_BYTES"
        )
