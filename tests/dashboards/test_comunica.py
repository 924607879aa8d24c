"""The query of every table through Comunica, as Grafana's SPARQL plugin runs it."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from dashboards import grafana_sparql, grafana_text
from dashboards.grafana import render
from dashboards.lint import panels, variables
from dashboards.live_check import needed, sparql
from tests.api.servers import Api
from tests.dashboards import specs
from tests.dashboards.conftest import BIG, ODD, Made, Servers
from tests.dashboards.node import MODULES, node
from tests.dashboards.specs import dashboard, table_panel
from tests.servers import ROOT

_PASSWORD = "what-a-reader-knows"
_RUNNER = Path(__file__).with_name("comunica.mjs")

Run = Callable[[list[str]], list[dict[str, Any]]]


@pytest.fixture(scope="module")
def api(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The API that the plugin queries, protected by its reader's password."""
    folder = tmp_path_factory.mktemp("api")
    parts = urlsplit(servers.fuseki)
    with ProtectedApi(
        folder,
        base=specs.BASE,
        home=str(folder / "home"),
        fuseki_url=f"http://{parts.hostname}:{parts.port}",
        fuseki_user=parts.username or "",
        fuseki_password=parts.password or "",
        store_read_url=servers.store,
        reader_password=_PASSWORD,
    ) as server:
        yield server.url


class ProtectedApi(Api):
    """An API that counts as ready when it requires the password."""

    def start(self) -> None:
        self.launch([sys.executable, "-m", "api"], cwd=ROOT, **self.env)
        self.ready(self._refuses)

    def _refuses(self) -> bool:
        try:
            answer = httpx.get(f"{self.url}/sparql", trust_env=False)
        except httpx.HTTPError:
            return False
        return answer.status_code == httpx.codes.UNAUTHORIZED


@pytest.fixture(scope="module")
def comunica(api: str) -> Run:
    """Runs queries as a reader does with the plugin."""

    def run(queries: list[str]) -> list[dict[str, Any]]:
        command = [node(), _RUNNER, MODULES, f"{api}/sparql", f"reader:{_PASSWORD}"]
        done = subprocess.run(
            command,
            input=json.dumps(queries),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        found: list[dict[str, Any]] = json.loads(done.stdout)
        return found

    return run


def _tables(one: Made) -> list[tuple[dict[str, Any], str]]:
    """The tables of a dashboard, each with the query that Grafana sends."""
    defined = variables(one.document)
    return [
        (panel, sparql({"queryText": text}, defined))
        for panel, text in _raw_tables(one)
    ]


def _raw_tables(one: Made) -> list[tuple[dict[str, Any], str]]:
    return [
        (dict(panel), target["queryText"])
        for panel in panels(one.document)
        if panel["type"] == "table"
        for target in panel.get("targets", [])
        if "queryText" in target
    ]


def test_every_table_gets_its_rows_and_columns(made: list[Made], comunica: Run) -> None:
    """The plugin gets the rows of the spec, cell by cell, as text."""
    wanted = [(one, panel, text) for one in made for panel, text in _tables(one)]
    assert len(wanted) >= 20
    answered = comunica([text for _, _, text in wanted])
    for (one, panel, _), answer in zip(wanted, answered, strict=True):
        table = _table_of(one, panel)
        assert "error" not in answer, (panel["title"], answer)
        assert len(answer["rows"]) == len(table.rows), panel["title"]
        bound = [
            column.name
            for at, column in enumerate(table.columns)
            if any(row[at] is not None for row in table.rows)
        ]
        assert set(answer["columns"]) == set(bound), panel["title"]
        assert set(bound) <= set(needed(panel))
        numbers = _numbers(panel)
        assert numbers == [column.name for column in table.columns if column.numeric]
        for name in set(numbers) & set(bound):
            at = answer["columns"].index(name)
            [float(row[at]) for row in answer["rows"] if row[at] is not None]


def _table_of(one: Made, panel: dict[str, Any]) -> Any:
    drawn = [p for section in one.spec.sections for p in section.panels]
    ids = [other["id"] for other in panels(one.document)]
    table = drawn[ids.index(panel["id"])].table
    assert table
    return table


def _numbers(panel: dict[str, Any]) -> list[str]:
    return [
        conversion["targetField"]
        for step in panel["transformations"]
        if step["id"] == "convertFieldType"
        for conversion in step["options"]["conversions"]
    ]


def test_roofline_gets_lines_and_points_that_share_their_axes(
    made: list[Made], comunica: Run
) -> None:
    one = next(m for m in made if (m.spec.name, m.spec.host) == ("roofline", ODD))
    (chart,) = (p for p in panels(one.document) if p["type"] == "xychart")
    lines, points = comunica([target["queryText"] for target in chart["targets"]])
    places = {name: at for at, name in enumerate(lines["columns"])}
    found = [[row[places[name]] for name in ("name", "limit")] for row in lines["rows"]]
    assert {name for name, _ in found} == {"L1", "DRAM", "avx double fma"}
    assert len(found) == 6
    assert all(float(limit) > 0 for _, limit in found)
    columns = ("kind", "threads", "intensity", "rate")
    (row,) = points["rows"]
    kind, *numbers = (row[points["columns"].index(name)] for name in columns)
    assert [kind, *map(float, numbers)] == ["benchmark", 2, 2 / 24, 2e9 / 24 * 2]


def test_drop_down_of_hosts_is_answered(comunica: Run) -> None:
    (answer,) = comunica([grafana_sparql.HOSTS])
    assert answer["columns"] == ["value", "label"]
    assert answer["rows"] == [[name, name] for name in sorted([BIG, ODD])]


def test_chosen_host_limits_the_table(made: list[Made], comunica: Run) -> None:
    """Tables of all hosts, filtered by host, match the host's own dashboard."""
    inventories = {m.spec.host: m for m in made if m.spec.name == "inventory"}
    targets = [text for panel, text in _raw_tables(inventories[""])]
    narrowed, alone = [], []
    for host in (BIG, ODD):
        chosen = {"host": f'"{host}"'}
        narrowed += [grafana_text.interpolate(text, chosen) for text in targets]
        alone += [text for _, text in _tables(inventories[host])]
    assert sum(f'("{BIG}"' in text for text in narrowed) > 5
    answered = comunica(narrowed + alone)
    rows = [one["rows"] for one in answered]
    assert rows[: len(narrowed)] == rows[len(narrowed) :]


def test_text_like_a_variable_is_kept(comunica: Run) -> None:
    """Dollar signs and brackets reach the store unchanged."""
    query = (
        'SELECT ("a$host [[host]] ${host} \\\\$x" AS ?text)\n'
        '  (STR(<http://a/$host>) AS ?iri) (REGEX("ab", "b$") AS ?end) WHERE {}'
    )
    filled = grafana_text.interpolate(grafana_text.sparql(query), {"host": "BROKEN"})
    (answer,) = comunica([filled])
    assert answer["rows"] == [
        ["a$host [[host]] ${host} \\$x", "http://a/$host", "true"]
    ]


def test_broken_queries_are_reported(comunica: Run) -> None:
    """A query that does not parse, an undeclared prefix, an unknown function."""
    answered = comunica(
        [
            "SELECT ?host WHERE { ?host a }",
            "SELECT ?host WHERE { ?host a x:y }",
            "SELECT ?host WHERE { FILTER(NOFUNCTION(?host)) }",
            "SELECT ?host WHERE { BIND (1 AS ?host) }",
        ]
    )
    assert ["error" in one for one in answered] == [True, True, True, False]
    assert "parse error" in answered[0]["error"].lower()
    assert "x" in answered[1]["error"]


def test_missing_column_is_reported(comunica: Run) -> None:
    """A table whose query lost the column that it shows."""
    query = (
        "PREFIX st: <https://w3id.org/supertwin/ns#>\nSELECT ?host ?disk WHERE {\n"
        "  VALUES (?host) { (UNDEF) }\n"
        "  ?disk a st:Disk ; st:isPartOf/st:hostname ?host }"
    )
    whole = table_panel()
    assert whole.table
    table = type(whole.table)(whole.table.columns, whole.table.rows, query)
    document = render(dashboard(table_panel(table=table), host=""))
    panel = next(iter(panels(document)))
    (answer,) = comunica([sparql(panel["targets"][0], variables(document))])
    assert set(needed(dict(panel))) - set(answer["columns"]) == {"size"}
    assert specs.BASE in answer["rows"][0][answer["columns"].index("disk")]
