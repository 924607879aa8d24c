"""Tables that Grafana queries from the graph, through the SPARQL datasource.

The plugin runs the query in the browser. It returns every cell as text, and the columns
in the order in which they were first bound.
"""

from typing import Any

from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.cog.variants import Dataquery
from grafana_foundation_sdk.models.common import DataSourceRef

from dashboards import grafana_text
from dashboards.spec import TableColumn, TableData
from queries.sparql_text import tokenise, values_rows

PLUGIN = "flandersmake-sparql-datasource"
DATASOURCE = DataSourceRef(PLUGIN, "${graph}")

#: The query of the drop-down of hosts; ``label`` is the text shown.
HOSTS = """\
PREFIX st: <https://w3id.org/supertwin/ns#>
SELECT DISTINCT ?value ?label WHERE {
  ?node a st:ComputeNode ; st:hostname ?value .
  BIND (?value AS ?label)
}
ORDER BY ?value
"""
#: The value for all hosts.
ALL_HOSTS = "UNDEF"


class SparqlQuery(Dataquery):
    """One query of the plugin."""

    def __init__(self, query: str, ref_id: str = "A") -> None:
        self.query, self.ref_id = query, ref_id

    def to_json(self) -> dict[str, Any]:
        """The query in the plugin's format."""
        reference = {"refId": self.ref_id, "datasource": DATASOURCE}
        return {**reference, "queryText": self.query}


class SparqlTarget(Builder[SparqlQuery]):
    """The query of a table; with ``all_hosts`` the drop-down selects the host."""

    def __init__(self, table: TableData, all_hosts: bool) -> None:
        text = grafana_text.sparql(table.query)
        self._query = SparqlQuery(_with_host(text) if all_hosts else text)

    def build(self) -> SparqlQuery:
        """The query."""
        return self._query


def chooses_host(table: TableData) -> bool:
    """Whether its query has an open parameter ``host``."""
    return _with_host(table.query) != table.query


def _with_host(query: str) -> str:
    """The query with its open parameter ``host`` bound to the drop-down."""
    for row in values_rows(tokenise(query)):
        names = [name.removesuffix("0") for name in row.variables]
        if "host" in names and row.terms[names.index("host")] == ALL_HOSTS:
            terms = list(row.terms)
            terms[names.index("host")] = grafana_text.HOST
            return f"{query[: row.start]}({' '.join(terms)}){query[row.end :]}"
    return query


def transformations(table: TableData) -> list[dict[str, Any]]:
    """Convert texts to numbers, and order the columns as in the query."""
    numeric = [column.name for column in table.columns if column.numeric]
    order = {column.name: place for place, column in enumerate(table.columns)}
    organize = {
        "excludeByName": {},
        "includeByName": {},
        "indexByName": order,
        "renameByName": {},
    }
    steps = [{"id": "organize", "options": organize}]
    if numeric:
        steps.insert(0, to_numbers(numeric))
    return steps


def to_numbers(columns: list[str]) -> dict[str, Any]:
    """The transformation of columns of texts to numbers."""
    conversions = [
        {"targetField": name, "destinationType": "number"} for name in columns
    ]
    options = {"conversions": conversions, "fields": {}}
    return {"id": "convertFieldType", "options": options}


def overrides(table: TableData) -> list[dict[str, Any]]:
    """The unit of each numeric column, the link of each column of IRIs."""
    found = [
        (column, _properties(table, place, column))
        for place, column in enumerate(table.columns)
    ]
    return [
        {"matcher": {"id": "byName", "options": column.name}, "properties": properties}
        for column, properties in found
        if properties
    ]


def _properties(
    table: TableData, place: int, column: TableColumn
) -> list[dict[str, Any]]:
    if column.numeric:
        unit = column.unit.grafana if column.unit else "none"
        return [{"id": "unit", "value": unit}]
    cells = [row[place] for row in table.rows if row[place] is not None]
    if cells and all(map(grafana_text.is_address, cells)):
        opened = {"title": "Open", "url": "${__value.raw}", "targetBlank": True}
        return [{"id": "links", "value": [opened]}]
    return []
