"""Reads the ``#+ `` header of a saved query: YAML, checked key by key."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from queries.binding import PARAM_TYPES, Param, serialise
from queries.errors import CatalogueError, ParameterError

_REQUIRED = ("title", "description", "params", "returns")
_OPTIONAL = ("panel",)
_PARAM_KEYS = ("type", "default", "enum", "description")
# libyaml's loader is six times faster; not every build of PyYAML has it.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Header:
    """What stands above a saved query."""

    title: str
    description: str
    params: dict[str, Param]
    returns: list[str]
    panel: Mapping[str, Any] | None


def parse_header(text: str) -> Header:
    """Read the header of one ``.rq`` text; raises CatalogueError."""
    keys = _load(text)
    missing = [key for key in _REQUIRED if key not in keys]
    if missing:
        raise CatalogueError(f"header lacks {', '.join(missing)}")
    _only_known("header", keys, _REQUIRED + _OPTIONAL)
    return Header(
        title=_text("title", keys["title"]),
        description=_text("description", keys["description"]),
        params=_params(keys["params"]),
        returns=_names(keys["returns"]),
        panel=_panel(keys.get("panel")),
    )


def _load(text: str) -> dict[str, Any]:
    lines = [line[3:] for line in text.splitlines() if line.startswith("#+ ")]
    document = "\n".join(lines)
    try:
        _check_once(yaml.compose(document, Loader=_LOADER))
        loaded = yaml.load(document, Loader=_LOADER)  # noqa: S506
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise CatalogueError(f"header is no YAML: {reason}") from error
    if not isinstance(loaded, dict):
        raise CatalogueError("has no header: begin it with '#+ title: …' lines")
    return loaded


def _check_once(node: yaml.Node | None) -> None:
    """YAML lets the last of two equal keys win, in silence."""
    if not isinstance(node, yaml.MappingNode):
        return
    seen: set[str] = set()
    for key, value in node.value:
        if key.value in seen:
            raise CatalogueError(f"{key.value} stands twice in the header")
        seen.add(key.value)
        _check_once(value)


def _only_known(where: str, keys: Mapping[str, Any], known: tuple[str, ...]) -> None:
    unknown = [str(key) for key in keys if key not in known]
    if unknown:
        raise CatalogueError(
            f"{where} has unknown keys {', '.join(unknown)}; known: {', '.join(known)}"
        )


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise CatalogueError(f"{key} must be a text")
    return value.strip()


def _names(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise CatalogueError("returns must be a list of column names")
    return value


def _panel(value: Any) -> Mapping[str, Any] | None:
    if value is not None and not isinstance(value, dict):
        raise CatalogueError("panel must be a mapping")
    return value


def _params(value: Any) -> dict[str, Param]:
    if not isinstance(value, dict):
        raise CatalogueError("params must be a mapping of names, {} for none")
    return {name: _param(name, keys) for name, keys in value.items()}


def _param(name: str, keys: Any) -> Param:
    where = f"parameter {name}"
    if not isinstance(name, str) or not name.isidentifier():
        raise CatalogueError(f"{where} is no name that SPARQL allows")
    if not isinstance(keys, dict):
        raise CatalogueError(f"{where} must be a mapping such as {{type: string}}")
    _only_known(where, keys, _PARAM_KEYS)
    if keys.get("type") not in PARAM_TYPES:
        raise CatalogueError(f"{where} has no type of {', '.join(PARAM_TYPES)}")
    param = Param(
        name=name,
        type=keys["type"],
        default=keys.get("default"),
        enum=_enum(where, keys.get("enum", [])),
        description=str(keys.get("description", "")),
    )
    _check_values(where, param)
    return param


def _enum(where: str, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise CatalogueError(f"{where}: enum must be a list")
    return tuple(value)


def _check_values(where: str, param: Param) -> None:
    natural: dict[str, type | tuple[type, ...]] = {
        "integer": int,
        "number": (int, float),
        "boolean": bool,
    }
    for value in (*param.enum, param.default):
        try:
            serialise(param, value)
        except (ParameterError, TypeError) as error:
            raise CatalogueError(f"default or enum of {error}") from error
        expected = natural.get(param.type, str)
        if value is not None and not isinstance(value, expected):
            raise CatalogueError(f"{where}: {value!r} is not of type {param.type}")
