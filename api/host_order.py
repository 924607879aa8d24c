"""Sorts rows of saved queries by host in natural order, in every table format.

Rows are moved as the graph store wrote them.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

import orjson
from anyio import to_thread

from api import formats
from queries.catalogue import SavedQuery
from queries.natural_order import has_hosts_in_order, hosts_in_order

_CSV_CELL = re.compile(r'(?:^|,)("(?:[^"]|"")*"|[^,]*)')
_XML_ROW = re.compile(r"\s*<result>.*?</result>", re.DOTALL)
_XML_CELL = re.compile(
    r'<binding name="(\w+)">\s*<[^>]*>(.*?)</\w+>\s*</binding>', re.DOTALL
)


async def with_hosts_in_order(query: SavedQuery, body: bytes, media_type: str) -> bytes:
    """Put node2 before node10 in the answer of a SELECT that is ordered by host."""
    if query.form != "select" or not has_hosts_in_order(query):
        return body
    reorder = _FORMS[formats.upstream_type(media_type)]
    return await to_thread.run_sync(reorder, query, body)


def _json(query: SavedQuery, body: bytes) -> bytes:
    document = orjson.loads(body)
    rows = document["results"]["bindings"]
    ordered = hosts_in_order(query, rows, _bound)
    document["results"]["bindings"] = ordered
    return body if ordered == rows else orjson.dumps(document)


def _bound(row: Mapping[str, Any], column: str) -> str:
    return str(row[column]["value"]) if column in row else ""


def _csv(query: SavedQuery, body: bytes) -> bytes:
    return _lines(query, body, _CSV_CELL.findall)


def _tsv(query: SavedQuery, body: bytes) -> bytes:
    return _lines(query, body, lambda record: record.split("\t"))


def _lines(query: SavedQuery, body: bytes, split: Callable[[str], list[str]]) -> bytes:
    header, *records = _records(body.decode())
    names = [name.strip('?"') for name in split(header.rstrip("\r\n"))]
    at = {name: number for number, name in enumerate(names)}
    rows = [(record, split(record.rstrip("\r\n"))) for record in records]
    ordered = hosts_in_order(query, rows, lambda row, name: row[1][at[name]])
    return "".join([header, *(record for record, _ in ordered)]).encode()


def _records(text: str) -> list[str]:
    """Split text into lines; a line that ends inside quotes continues in the next."""
    records: list[str] = []
    within = False
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        if within:
            records[-1] += line
        else:
            records.append(line)
        within ^= line.count('"') % 2 == 1
    return records


def _xml(query: SavedQuery, body: bytes) -> bytes:
    text = body.decode()
    records = _XML_ROW.findall(text)
    if not records:
        return body
    rows = [(record, dict(_XML_CELL.findall(record))) for record in records]
    ordered = hosts_in_order(query, rows, lambda row, name: row[1].get(name, ""))
    first, last = text.index(records[0]), text.rindex(records[-1]) + len(records[-1])
    return f"{text[:first]}{''.join(row for row, _ in ordered)}{text[last:]}".encode()


_FORMS: Mapping[str, Callable[[SavedQuery, bytes], bytes]] = {
    formats.RESULTS_JSON: _json,
    "text/csv": _csv,
    "text/tab-separated-values": _tsv,
    "application/sparql-results+xml": _xml,
}
