"""All names in docker-compose.yml exist: settings, ports, paths, volumes, commands."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from core.settings.settings import Settings
from supertwin.cli.main import main
from tests.deployment import compose
from tests.servers import ROOT

SERVICES = compose.services()
OURS = {name: one for name, one in SERVICES.items() if "build" in one}
SETTINGS = {f"SUPERTWIN_{name.upper()}" for name in Settings.fields}
OF_GRAFANA = re.compile(r"GF_[A-Z]+(_[A-Z]+)+(__FILE)?")


def test_compose_has_the_expected_services() -> None:
    wanted = {"fuseki", "victoria-metrics", "grafana", "api", "bridge", "ingest"}
    assert wanted <= SERVICES.keys()


@pytest.mark.parametrize("name", SERVICES)
def test_every_variable_is_a_setting(name: str) -> None:
    for variable in compose.environment(SERVICES[name]):
        known = variable in SETTINGS or OF_GRAFANA.fullmatch(variable)
        assert known and (name == "grafana" or variable in SETTINGS), variable


@pytest.mark.parametrize("name", OURS)
def test_every_value_is_valid_for_its_setting(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in compose.environment(OURS[name]).items():
        monkeypatch.setenv(variable, value)
    Settings()


def test_variables_are_settings_or_grafanas() -> None:
    for name, default in compose.variables().items():
        if name.startswith("GRAFANA_"):
            continue
        assert name in SETTINGS
        field = Settings.fields[name.removeprefix("SUPERTWIN_").lower()]
        if default and not callable(field.default) and name != "SUPERTWIN_HOST":
            assert default == str(field.default), name


def test_every_variable_is_documented() -> None:
    page = (ROOT / "docs" / "deployment.md").read_text("utf-8")
    assert not [name for name in compose.variables() if f"`{name}`" not in page]


def published() -> dict[str, tuple[str, int, int]]:
    """Address, port on the host and port in the container, by service."""
    found = {}
    for name, service in SERVICES.items():
        for port in service.get("ports", []):
            address, outside, inside = port.rsplit(":", 2)
            found[name] = (address, int(outside), int(inside))
    return found


def test_ports_are_published_on_loopback_only() -> None:
    assert {address for address, _, _ in published().values()} == {"127.0.0.1"}


def test_ports_are_the_defaults() -> None:
    wanted = {"fuseki": "fuseki_port", "api": "api_port"}
    for name, (_, outside, inside) in published().items():
        port = Settings.fields[wanted[name]].default if name in wanted else 3000
        assert outside == inside == port


def test_store_is_not_published() -> None:
    """Nothing outside its network needs it."""
    assert "victoria-metrics" not in published()


@pytest.mark.parametrize("name", SERVICES)
def test_urls_name_services_and_their_ports(name: str) -> None:
    ports = {
        "fuseki": Settings.fields["fuseki_port"].default,
        "victoria-metrics": Settings.fields["store_port"].default,
    }
    within = SERVICES[name].get("network_mode") != "host"
    for variable, value in compose.environment(SERVICES[name]).items():
        match = re.fullmatch(r"http://([\w.-]+):(\d+)", value)
        if match and variable.endswith("_URL") and not variable.startswith("GF_"):
            host, port = match[1], int(match[2])
            assert ports[host if within else "fuseki"] == port
            assert within or host == "127.0.0.1"


def test_base_is_the_url_of_the_api_for_browsers() -> None:
    bases = {
        compose.environment(one)["SUPERTWIN_BASE"]
        for one in SERVICES.values()
        if "SUPERTWIN_BASE" in one["environment"]
    }
    assert bases == {f"http://localhost:{published()['api'][1]}"}


def test_pages_of_grafana_may_query_the_api() -> None:
    origin = compose.environment(SERVICES["api"])["SUPERTWIN_CORS_ORIGINS"]
    assert origin == f"http://localhost:{published()['grafana'][1]}"
    assert compose.environment(SERVICES["grafana"])["GF_SERVER_ROOT_URL"] == origin


def test_every_volume_is_declared_and_used() -> None:
    sources = {m[0] for one in SERVICES.values() for m in compose.mounts(one)}
    named = {source for source in sources if "/" not in source}
    assert named == compose.load()["volumes"].keys()


def test_mounted_files_exist_and_are_read_only() -> None:
    for service in SERVICES.values():
        for source, _, read_only in compose.mounts(service):
            if "/" in source:
                assert read_only, source
            if source.startswith("./"):
                assert list((ROOT / source).iterdir()), source


def test_every_volume_has_one_writer() -> None:
    for volume in compose.load()["volumes"]:
        writers = [
            name
            for name, service in SERVICES.items()
            for source, _, read_only in compose.mounts(service)
            if source == volume and not read_only
        ]
        assert len(writers) == 1, volume


def image_folders() -> set[str]:
    """State folders that the image creates for its user."""
    text = (ROOT / "Dockerfile").read_text("utf-8")
    names = re.search(r"for name in ([\w ]+); do", text)
    assert names
    return {f"/var/lib/supertwin/{name}" for name in names[1].split()}


def test_volume_is_mounted_on_a_folder_of_the_image_user() -> None:
    for service in OURS.values():
        for source, target, _ in compose.mounts(service):
            if "/" not in source:
                assert target in image_folders()


def test_volume_has_one_mount_point() -> None:
    places: dict[str, set[str]] = {}
    for service in SERVICES.values():
        for source, target, _ in compose.mounts(service):
            places.setdefault(source, set()).add(target)
    assert all(len(targets) == 1 for targets in places.values())


def test_every_secret_is_declared_used_and_created(tmp_path: Path) -> None:
    compose.copy_deploy(tmp_path / "deploy")
    declared = compose.load()["secrets"]
    used = {name for one in SERVICES.values() for name in one.get("secrets", [])}
    assert used == declared.keys()
    subprocess.run([tmp_path / "deploy" / "make-secrets"], check=True)
    for name, secret in declared.items():
        assert secret["file"] == f"./deploy/secrets/{name}"
        assert (tmp_path / secret["file"]).stat().st_size > 24


def test_secrets_are_created_once(tmp_path: Path) -> None:
    compose.copy_deploy(tmp_path / "deploy")
    folder = tmp_path / "deploy" / "secrets"
    command = [tmp_path / "deploy" / "make-secrets"]
    subprocess.run(command, check=True)
    first = {path.name: path.read_text() for path in folder.iterdir()}
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert {path.name: path.read_text() for path in folder.iterdir()} == first
    assert folder.stat().st_mode & 0o777 == 0o700
    assert len(set(first.values())) == len(first)
    assert not [text for text in first.values() if text.strip() in done.stdout]


def test_password_is_never_in_the_file() -> None:
    for service in SERVICES.values():
        for name, value in compose.environment(service).items():
            if "PASSWORD" in name:
                secret = value.removeprefix("/run/secrets/")
                assert name.endswith("_FILE") and secret in service["secrets"]


def test_secrets_stay_out_of_git_and_of_the_image() -> None:
    ignored = (ROOT / "deploy/secrets/.gitignore").read_text().split()
    assert ignored == ["*", "!.gitignore"]
    assert "deploy" in (ROOT / ".dockerignore").read_text().split()


@pytest.mark.parametrize("name", OURS)
def test_every_command_exists(name: str) -> None:
    service = OURS[name]
    lines = [service["command"], service.get("healthcheck", {}).get("test", [])]
    words = [line for line in lines if line]
    if "entrypoint" in service:
        assert service["entrypoint"] == ["sh", "-c"]
        words = [re.findall(r"supertwin ([\w-]+)", service["command"][0])]
        assert words[0]
    for command in words:
        if command[0] == "CMD":
            assert command[1] == "supertwin"
            command = command[2:]
        if command[0] != "CMD-SHELL":
            parses(command)


def parses(command: list[str]) -> None:
    """Assert that the command line accepts these words."""
    found = main.get_command(main.make_context("supertwin", ["docs"]), command[0])
    assert found, command
    found.make_context(command[0], list(command[1:]))


@pytest.mark.parametrize("name", OURS)
def test_own_services_have_few_privileges(name: str) -> None:
    service = OURS[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "privileged" not in service and "user" not in service


@pytest.mark.parametrize("name", [n for n in SERVICES if n not in ("ingest", "token")])
def test_every_service_has_health_check_limits_and_restart(name: str) -> None:
    service = SERVICES[name]
    assert service["healthcheck"]["test"][0] in ("CMD", "CMD-SHELL")
    assert service["mem_limit"]
    assert service["restart"] == "unless-stopped"


def test_waiting_ends_when_the_service_is_healthy() -> None:
    for service in SERVICES.values():
        for name, rule in service.get("depends_on", {}).items():
            assert rule == {"condition": "service_healthy"}
            assert "healthcheck" in SERVICES[name]


def test_images_are_pinned() -> None:
    images = {service["image"] for service in SERVICES.values()}
    for image in images:
        assert re.search(r":v?\d+\.\d+\.\d+$", image), image


def test_own_image_has_the_package_version() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    version = re.search(r'^version = "(.+)"$', project, re.MULTILINE)
    assert version
    assert {one["image"] for one in OURS.values()} == {f"supertwin:{version[1]}"}


def test_grafana_version_matches_the_checked_schema() -> None:
    package = json.loads((ROOT / "deploy/locks/grafana/package.json").read_text())
    version = package["dependencies"]["@grafana/schema"]
    assert SERVICES["grafana"]["image"] == f"grafana/grafana:{version}"


def test_host_without_a_name_is_refused() -> None:
    with pytest.raises(KeyError, match="SUPERTWIN_HOST"):
        compose.load({"OTHER": ""})


def docker_compose() -> list[str]:
    """The command for Docker's own parser of the file; empty if not installed."""
    command = ["docker", "compose"]
    if not shutil.which("docker"):
        return []
    done = subprocess.run([*command, "version"], capture_output=True, check=False)
    return command if done.returncode == 0 else []


def test_docker_reads_the_same_configuration() -> None:
    read: dict[str, Any] = compose.load()
    names = set(compose.variables())
    env = {name: value for name, value in os.environ.items() if name not in names}
    if command := docker_compose():
        done = subprocess.run(
            [*command, "--env-file", "/dev/null", "--profile", "*", "config"]
            + ["--format", "json"],
            cwd=ROOT,
            env=env | {"SUPERTWIN_HOST": compose.HOST},
            capture_output=True,
            text=True,
            check=True,
        )
        theirs = json.loads(done.stdout)["services"]
        assert theirs.keys() == read["services"].keys()
        for name, service in read["services"].items():
            assert theirs[name]["environment"] == compose.environment(service)
            assert theirs[name]["command"] == service.get("command")
    assert read["name"] == "supertwin"
