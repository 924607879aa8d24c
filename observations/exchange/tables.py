"""Tables of samples as CSV, Parquet and Arrow."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


def csv_bytes(head: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """Return rows below a header; None is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue().encode()


def table_of(columns: Mapping[str, Sequence[Any]]) -> "pa.Table":
    """Return columns as a table; ``value`` is a number, ``time`` in Unix milliseconds.

    All others are texts.

    """
    import pyarrow as pa

    types = {"time": pa.timestamp("ms", "UTC"), "value": pa.float64()}
    arrays = [
        pa.array(list(values), types.get(name, pa.string()))
        for name, values in columns.items()
    ]
    return pa.table(arrays, names=list(columns))


def parquet_bytes(table: "pa.Table") -> bytes:
    """Return a table as a Parquet file."""
    # The import takes as long as the rest of a command's start.
    from pyarrow import parquet

    out = io.BytesIO()
    parquet.write_table(table, out)
    return out.getvalue()


def arrow_bytes(table: "pa.Table") -> bytes:
    """Return a table as an Arrow IPC stream."""
    import pyarrow as pa

    out = io.BytesIO()
    with pa.ipc.new_stream(out, table.schema) as stream:
        stream.write_table(table)
    return out.getvalue()
