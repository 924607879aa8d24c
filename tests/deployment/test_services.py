"""Every service of docker-compose.yml runs with its own command and variables."""

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
import yaml

from tests.deployment import compose
from tests.deployment.containers import Container, Place, bridge_status
from tests.servers import ROOT, Pmcd, wait_until

HOSTS = "SELECT ?name { ?h <https://w3id.org/supertwin/ns#hostname> ?name }"
IN_ORDER = ("fuseki", "victoria-metrics", "api", "bridge")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """All services running, with this machine probed and loaded."""
    folder = tmp_path_factory.mktemp("compose")
    with ExitStack() as stack:
        pmcd = stack.enter_context(Pmcd(folder / "pmcd"))
        place = Place(folder, pmcd.socket)
        for name in IN_ORDER:
            stack.enter_context(Container(place, name))
        assert compose.HOST in Container(place, "ingest").run()
        stack.enter_context(Container(place, "dashboards"))
        yield place


def ask(place: Place, **options: object) -> httpx.Response:
    """A query as Grafana's plugin sends it, to the provisioned address."""
    path = source(place).removeprefix("http://localhost:8000")
    return httpx.post(
        f"{place.url('api')}{path}",
        data={"query": HOSTS},
        headers={"Origin": "http://localhost:3000"},
        **options,  # type: ignore[arg-type]
    )


def source(place: Place) -> str:
    """The graph's address as Grafana's provisioning gives it to the plugin."""
    path = ROOT / "deploy/grafana/datasources/supertwin.yaml"
    for one in yaml.safe_load(path.read_text())["datasources"]:
        if one["uid"] == "supertwin-graph":
            base = compose.environment(compose.services()["grafana"])["SUPERTWIN_BASE"]
            found: str = one["jsonData"]["source"].replace("$SUPERTWIN_BASE", base)
            return found
    raise AssertionError("no source of the graph")


def test_plugin_of_grafana_reads_the_twin(place: Place) -> None:
    answer = ask(place, auth=place.reader)
    assert answer.headers["access-control-allow-origin"] == "http://localhost:3000"
    rows = answer.json()["results"]["bindings"]
    assert [row["name"]["value"] for row in rows] == [compose.HOST]


def test_anonymous_clients_are_refused(place: Place) -> None:
    assert ask(place).status_code == 401
    answer = httpx.get(f"{place.url('fuseki')}/twin/sparql", params={"query": HOSTS})
    assert answer.status_code == 401


def test_bridge_writes_series(place: Place) -> None:
    wait_until(lambda: bridge_status(place).get("written"), what="points")
    url = f"{place.url('victoria-metrics')}/api/v1/label/hostname/values"
    answer = httpx.get(url, auth=place.store_account)
    assert answer.json()["data"] == [compose.HOST]
    assert httpx.get(url).status_code == 401


def test_api_sees_all_services(place: Place) -> None:
    def well() -> bool:
        return httpx.get(f"{place.url('api')}/health").status_code == 200

    wait_until(well, what="health")
    assert list((place.home / "topology").glob("*.xml"))


def test_dashboards_use_data_sources_of_grafana(place: Place) -> None:
    files = list((place.home / "dashboards").rglob("*.json"))
    assert files
    types = {
        variable["query"]
        for path in files
        for variable in json.loads(path.read_text())["templating"]["list"]
        if variable["type"] == "datasource"
    }
    provisioned = (ROOT / "deploy/grafana/datasources/supertwin.yaml").read_text()
    assert types == set(re.findall(r"^    type: (\S+)$", provisioned, re.MULTILINE))


def test_no_password_is_in_arguments_or_logs(place: Place) -> None:
    secrets = [
        path.read_text().strip() for path in (place.deploy / "secrets").iterdir()
    ]
    logs = [path for path in (place.home.parent / "log").rglob("*") if path.is_file()]
    assert len(logs) >= len(IN_ORDER)
    for path in [*logs, *Path("/proc").glob("[0-9]*/cmdline")]:
        try:
            text = path.read_text(errors="replace")
        except OSError:  # the process has ended
            continue
        assert not [secret for secret in secrets if secret in text]


def test_command_compacts_the_store(place: Place) -> None:
    fuseki = Container(place, "fuseki")
    fuseki.command = ["supertwin", "compact", "--patience", "2"]
    assert "twin compacted" in fuseki.run()
    assert ask(place, auth=place.reader).is_success


def test_check_names_the_unreachable_service(place: Place) -> None:
    elsewhere = Container(place, "api")
    elsewhere.env["SUPERTWIN_API_PORT"] = "9"
    assert not elsewhere.is_well()
