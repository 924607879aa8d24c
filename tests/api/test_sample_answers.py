"""Rows of samples in each media type, without stores."""

from io import BytesIO

import orjson
import pyarrow as pa
import pytest
from pyarrow import parquet

from api.samples.answer import SampleRows, TelemetryLinks, json_ld, read_rows, written
from api.samples.media_types import ARROW, CSV, PARQUET
from core.stores.errors import TooLargeError
from queries.sample_calls import SampleCall

BASE = "http://twin.example:8000"
IRI = f"{BASE}/twin/n1/telemetry/a/~"
RAW, AVG = SampleCall("raw", 0, 1), SampleCall("avg", 0, 1, coverage=True)
VALUES = ["9007199254740993", "0.1", "INF", "-INF", "NaN", "-3", "1.0E-9"]


def rows_of(body: str, call: SampleCall, most: int = 10**6) -> SampleRows:
    return SampleRows(call, [IRI], read_rows(body.encode(), call), False, most)


def raw_rows(most: int = 10**6) -> SampleRows:
    lines = [
        f"0,2026-11-18T00:00:0{n}.5Z,{value},true" for n, value in enumerate(VALUES)
    ]
    return rows_of("\r\n".join(["n,time,value,number", *reversed(lines)]), RAW, most)


def test_csv_has_the_values_as_they_are_stored_in_order_of_time() -> None:
    lines = written(raw_rows(), CSV).decode().splitlines()
    assert [line.partition(",")[2] for line in lines] == ["value", *VALUES]
    assert lines[1].startswith("2026-11-18T00:00:00.500Z,")


def test_tables_have_numbers() -> None:
    expected = [9007199254740992, 0.1, float("inf"), float("-inf"), -3, 1e-9]
    for table in (
        parquet.read_table(BytesIO(written(raw_rows(), PARQUET))),
        pa.ipc.open_stream(written(raw_rows(), ARROW)).read_all(),
    ):
        found = table["value"].to_pylist()
        assert found.pop(4) != 0 and found == expected


def test_numbers_that_json_lacks_are_typed_texts() -> None:
    graph = orjson.loads(json_ld(raw_rows(), BASE, [TelemetryLinks()]))["@graph"]
    double = "xsd:double"
    assert [one["hasSimpleResult"] for one in graph] == [
        {"@value": "9007199254740993", "@type": "xsd:integer"},
        0.1,
        *({"@value": text, "@type": double} for text in ("INF", "-INF", "NaN")),
        *(-3, 1e-9),
    ]


def test_window_without_samples_has_coverage_only() -> None:
    head = "n,time,value,present,expected,why"
    body = f'{head}\r\n0,2026-11-18T00:00:01Z,,0,12,"late 2, gone 10"\r\n'
    rows = rows_of(body, AVG)
    csv_line = written(rows, CSV).decode().splitlines()[1]
    assert csv_line == '2026-11-18T00:00:01.000Z,,0,12,"late 2, gone 10"'
    (table,) = parquet.read_table(BytesIO(written(rows, PARQUET))).to_pylist()
    assert (table["value"], table["expected"]) == (None, 12)
    (one,) = orjson.loads(json_ld(rows, BASE, [TelemetryLinks()]))["@graph"]
    assert one["why"] == "late 2, gone 10" and "hasSimpleResult" not in one


def test_texts_keep_line_ends_and_quotes() -> None:
    text = 'a "b"\nc,d'
    body = 'n,time,value,number\r\n0,2026-11-18T00:00:01Z,"a ""b""\nc,d",false\r\n'
    rows = rows_of(body, RAW)
    assert parquet.read_table(BytesIO(written(rows, PARQUET)))["text"].to_pylist() == [
        text
    ]
    (one,) = orjson.loads(json_ld(rows, BASE, [TelemetryLinks()]))["@graph"]
    assert one["hasSimpleResult"] == text


def test_answer_has_the_size_limit_of_a_query() -> None:
    for most in (50, 1000):
        with pytest.raises(TooLargeError):
            json_ld(raw_rows(most), BASE, [TelemetryLinks()])
    with pytest.raises(TooLargeError):
        written(raw_rows(50), CSV)
