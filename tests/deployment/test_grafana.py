"""Grafana's provisioning: read as Grafana reads it, with its plugins' requests."""

import re
from typing import Any

import yaml

from core.settings.settings import Settings
from dashboards.grafana_sparql import PLUGIN
from tests.deployment import compose
from tests.servers import ROOT

FOLDER = ROOT / "deploy" / "grafana"
SERVICE = compose.services()["grafana"]


def read(path: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((FOLDER / path).read_text("utf-8"))
    assert found["apiVersion"] == 1
    return found


SOURCES = {
    one["type"]: one for one in read("datasources/supertwin.yaml")["datasources"]
}


def test_plugin_is_installed_and_pinned() -> None:
    name, _, version = SERVICE["environment"]["GF_PLUGINS_PREINSTALL_SYNC"].partition(
        "@"
    )
    assert name == PLUGIN
    assert tuple(map(int, version.split("."))) >= (1, 1, 0)


def test_each_type_has_a_data_source() -> None:
    assert set(SOURCES) == {"prometheus", PLUGIN}


def test_series_have_a_step_of_one_second() -> None:
    assert SOURCES["prometheus"]["jsonData"]["timeInterval"] == "1s"
    assert SOURCES["prometheus"]["isDefault"] is True


def test_variables_of_data_sources_are_set() -> None:
    text = (FOLDER / "datasources" / "supertwin.yaml").read_text("utf-8")
    names = set(re.findall(r"\$([A-Z]\w+)", text))
    assert names == {"SUPERTWIN_STORE_READ_URL", "SUPERTWIN_BASE"}
    assert names <= SERVICE["environment"].keys()
    secrets = set(re.findall(r"\$__file\{/run/secrets/(\w+)\}", text))
    assert secrets
    assert secrets <= set(SERVICE["secrets"])


def test_no_password_is_in_the_files() -> None:
    for path in FOLDER.rglob("*.yaml"):
        for line in path.read_text("utf-8").splitlines():
            assert "assword" not in line or "$__file{/run/secrets/" in line


def test_grafana_has_the_account_of_the_store() -> None:
    source = SOURCES["prometheus"]
    assert source["access"] == "proxy", "a browser would be shown the password"
    assert source["basicAuth"] is True
    assert source["basicAuthUser"] == Settings.fields["store_user"].default
    store = compose.services()["victoria-metrics"]
    path = compose.environment(store)["SUPERTWIN_STORE_PASSWORD_FILE"]
    assert source["secureJsonData"] == {"basicAuthPassword": f"$__file{{{path}}}"}


def test_dashboards_are_read_from_their_output_folder() -> None:
    (provider,) = read("dashboards/supertwin.yaml")["providers"]
    path = provider["options"]["path"]
    places = {target: source for source, target, _ in compose.mounts(SERVICE)}
    assert places[path] == "dashboards"
    writer = compose.services()["dashboards"]
    assert f"supertwin dashboards --out {path} " in writer["command"][0]


def test_folders_are_mounted_where_grafana_looks() -> None:
    for source, target, _ in compose.mounts(SERVICE):
        if source.startswith("./"):
            kind = target.removeprefix("/etc/grafana/provisioning/")
            assert source == f"./deploy/grafana/{kind}"
            assert list((FOLDER / kind).glob("*.yaml"))
