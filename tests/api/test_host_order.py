"""Hosts are in natural order in every form of answer, including dashboards."""

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from api.host_order import with_hosts_in_order
from queries.catalogue import parse_query, saved_query
from tests.api.graph import BASE

NAMES = ("node10", "node2", "node1")
ORDER = ["node1", "node2", "node10"]
GRAPH = f"{BASE}/graph/twin/of-a-test"


@pytest.fixture(scope="module", autouse=True)
def nodes(fuseki: str) -> Iterator[None]:
    """Add three hosts whose alphabetical order differs from their natural order."""

    def update(text: str) -> None:
        url = f"{fuseki}/twin/update"
        httpx.post(url, data={"update": text}, timeout=60).raise_for_status()

    hosts = " ".join(
        f'<{BASE}/twin/{name}> a st:ComputeNode ; rdfs:label "{name}" ; '
        f'st:hostname "{name}" .'
        for name in NAMES
    )
    update(
        "PREFIX st: <https://w3id.org/supertwin/ns#> "
        "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
        f"INSERT DATA {{ GRAPH <{GRAPH}> {{ {hosts} }} }}"
    )
    yield
    update(f"DROP GRAPH <{GRAPH}>")


def in_text(answer: httpx.Response) -> list[str]:
    """Return the hosts of this module in the order of the answer."""
    assert answer.status_code == 200, answer.text
    lines = [line.strip().replace("<", ",<") for line in answer.text.splitlines()]
    cells = [cell.strip('"') for line in lines for cell in line.split(",")]
    found = [cell.removeprefix("<literal>").split("\t")[0].strip('"') for cell in cells]
    return [cell for cell in found if cell in NAMES]


@pytest.mark.parametrize(
    "media_type",
    ["text/csv", "text/tab-separated-values", "application/sparql-results+xml"],
)
def test_csv_and_tsv_have_hosts_in_order(api: httpx.Client, media_type: str) -> None:
    answer = api.get("/queries/inventory/names", headers={"Accept": media_type})
    assert in_text(answer) == ORDER
    assert answer.headers["content-type"].startswith(media_type)


def test_json_and_json_ld_have_hosts_in_order(api: httpx.Client) -> None:
    for path in ("inventory/names", "inventory/names.json"):
        found = api.get(f"/queries/{path}").json()["results"]["bindings"]
        names = [row["host"]["value"] for row in found]
        assert [name for name in names if name in NAMES] == ORDER
    nodes = api.get("/queries/inventory/names.jsonld").json()["@graph"]
    assert [row["host"] for row in nodes if row["host"] in NAMES] == ORDER


def test_dashboard_tables_have_hosts_in_order(api: httpx.Client) -> None:
    document = api.get("/dashboards/inventory").json()
    assert [name for name in document["hosts"] if name in NAMES] == ORDER
    panels = [p for section in document["sections"] for p in section["panels"]]
    tables = [names(panel["table"]["rows"]) for panel in panels if panel["table"]]
    found = [table for table in tables if len(table) == len(NAMES)]
    assert found and all(table == ORDER for table in found)


def names(rows: list[list[Any]]) -> list[str]:
    cells = (cell for row in rows for cell in row)
    texts = (cell if isinstance(cell, str) else "" for cell in cells)
    return [text for text in texts if text in NAMES]


def test_row_bytes_are_unchanged() -> None:
    """A cell may contain line breaks, commas and quotation marks."""
    odd = 'x,node10,"a\n""b"", c\n"\r\n'
    header = "#+ title: T\n#+ description: D\n#+ params: {}\n"
    columns = "#+ returns: [a, host, b]\n"
    text = "SELECT ?a ?host ?b WHERE { ?a ?host ?b } ORDER BY ?host\n"
    query = parse_query("a/b", header + columns + text)
    body = f'a,host,b\r\n,node1,\r\n{odd}"",node2,""\r\n'.encode()
    expected = f'a,host,b\r\n,node1,\r\n"",node2,""\r\n{odd}'.encode()
    assert asyncio.run(with_hosts_in_order(query, body, "text/csv")) == expected


def test_order_by_of_a_query_is_kept() -> None:
    query = saved_query("inventory/graphs")
    same = asyncio.run(with_hosts_in_order(query, b"as it is", "text/csv"))
    assert same == b"as it is"
