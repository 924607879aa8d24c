"""docker-compose.yml as Docker reads it: variables substituted, merges resolved."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.servers import ROOT

HOST = "twin-in-a-box"
_VARIABLE = re.compile(
    r"\$(?:(?P<dollar>\$)|\{(?P<name>\w+)(?::(?P<kind>[-?])(?P<text>[^}]*))?\})"
)


def text() -> str:
    """The unchanged text of the file."""
    return (ROOT / "docker-compose.yml").read_text("utf-8")


def load(given: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The file with these variables; a KeyError names a missing one."""
    found: dict[str, Any] = yaml.safe_load(text())
    filled: dict[str, Any] = _fill(found, given or {"SUPERTWIN_HOST": HOST})
    return filled


def services() -> dict[str, dict[str, Any]]:
    """The services by name."""
    found: dict[str, dict[str, Any]] = load()["services"]
    return found


def variables() -> dict[str, str]:
    """The variables that a user may set, with their defaults."""
    return {
        found["name"]: found["text"] or ""
        for found in _VARIABLE.finditer(text())
        if found["name"]
    }


def environment(service: Mapping[str, Any]) -> dict[str, str]:
    """The environment of a service, as text."""
    return {name: str(value) for name, value in service["environment"].items()}


def mounts(service: Mapping[str, Any]) -> list[tuple[str, str, bool]]:
    """Source, target and read-only flag of every volume of a service."""
    return [_mount(volume) for volume in service.get("volumes", [])]


def copy_deploy(target: Path) -> None:
    """Copy ``deploy/``, without passwords that were generated there."""

    def made_before(folder: str, names: list[str]) -> list[str]:
        is_secret = Path(folder).name == "secrets"
        return [name for name in names if is_secret and name != ".gitignore"]

    shutil.copytree(ROOT / "deploy", target, ignore=made_before)


def _mount(volume: Any) -> tuple[str, str, bool]:
    if isinstance(volume, dict):
        return volume["source"], volume["target"], volume.get("read_only", False)
    source, target, *options = volume.split(":")
    return source, target, options == ["ro"]


def _fill(node: Any, given: Mapping[str, str]) -> Any:
    if isinstance(node, dict):
        return {name: _fill(value, given) for name, value in node.items()}
    if isinstance(node, list):
        return [_fill(value, given) for value in node]
    if not isinstance(node, str):
        return node
    return _VARIABLE.sub(lambda found: _value(found, given), node)


def _value(found: "re.Match[str]", given: Mapping[str, str]) -> str:
    if found["dollar"]:
        return "$"
    if found["name"] in given:
        return given[found["name"]]
    if found["kind"] != "-":
        raise KeyError(found["name"])
    return str(found["text"])
