"""Parse the ``#+ `` header of a saved query: YAML, checked key by key."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from queries.binding import PARAM_TYPES, Param, serialise
from queries.errors import CatalogueError, ParameterError

_REQUIRED = ("title", "description", "params", "returns")
_OPTIONAL = ("panel", "dataset")
# The current twins, and the earlier states of hosts.
_DATASETS = ("twin", "history")
# Parameters that every saved query has: in its URL, and as a tool (api.mcp).
RESERVED = ("version", "max_rows")
_PARAM_KEYS = ("type", "default", "enum", "description", "everywhere")
# libyaml's loader is six times faster, but not every build of PyYAML has it.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# Deeper nesting may crash the process, since the loader is recursive.
_DEEPEST = 20
# Limit on values with expanded aliases: a few lines could expand to endless ones.
_MOST_VALUES = 10_000
# Other exceptions that PyYAML raises for invalid tags and dates.
_NO_VALUE = (ValueError, TypeError, AttributeError, KeyError)


@dataclass(frozen=True)
class QueryHeader:
    """The header of a saved query."""

    title: str
    description: str
    params: dict[str, Param]
    returns: list[str]
    panels: tuple[Mapping[str, Any], ...]
    dataset: str = _DATASETS[0]


def parse_header(text: str) -> QueryHeader:
    """Read the header of one ``.rq`` text; raises CatalogueError."""
    keys = _load(text)
    missing = [key for key in _REQUIRED if key not in keys]
    if missing:
        raise CatalogueError(f"header lacks {', '.join(missing)}: add them")
    _only_known("header", keys, _REQUIRED + _OPTIONAL)
    return QueryHeader(
        title=_text("title", keys["title"]),
        description=_text("description", keys["description"]),
        params=_params(keys["params"]),
        returns=_names(keys["returns"]),
        panels=_panels(keys.get("panel")),
        dataset=_dataset(keys),
    )


def _load(text: str) -> dict[str, Any]:
    lines = [line[3:] for line in text.splitlines() if line.startswith("#+ ")]
    document = "\n".join(lines)
    try:
        _check_depth(document)
        _check_once(yaml.compose(document, Loader=_LOADER))
        loaded = yaml.load(document, Loader=_LOADER)  # noqa: S506
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise CatalogueError(f"header is not YAML: {reason}") from error
    except _NO_VALUE as error:
        raise CatalogueError(
            f"header has a value that YAML cannot convert ({str(error)[:80]}): quote it"
        ) from error
    if not isinstance(loaded, dict):
        raise CatalogueError("has no header: begin it with '#+ title: …' lines")
    return loaded


def _check_depth(document: str) -> None:
    depth = 0
    for event in yaml.parse(document, Loader=_LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise CatalogueError("header is nested too deeply: write it flat")


def _check_once(node: yaml.Node | None) -> None:
    """Reject duplicate keys: YAML silently uses the last."""
    left = [node]
    for _ in range(_MOST_VALUES):
        if not left:
            return
        found = left.pop()
        if isinstance(found, yaml.SequenceNode):
            left += found.value
        elif isinstance(found, yaml.MappingNode):
            _check_keys([key for key, _ in found.value])
            left += [value for _, value in found.value]
    raise CatalogueError(f"header has more than {_MOST_VALUES} values: shorten it")


def _check_keys(keys: Sequence[yaml.Node]) -> None:
    seen: set[str] = set()
    for key in keys:
        if not isinstance(key, yaml.ScalarNode):
            raise CatalogueError("header has a key that is not text: quote it")
        if key.value in seen:
            raise CatalogueError(f"{key.value} occurs twice in the header: keep one")
        seen.add(key.value)


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


def _dataset(keys: Mapping[str, Any]) -> str:
    named = keys.get("dataset", _DATASETS[0])
    if named not in _DATASETS:
        raise CatalogueError(f"dataset must be one of {', '.join(_DATASETS)}")
    if named != _DATASETS[0] and "panel" in keys:
        raise CatalogueError(f"panels are drawn from {_DATASETS[0]} alone")
    return str(named)


def _names(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise CatalogueError("returns must be a list of column names")
    return value


def _panels(value: Any) -> tuple[Mapping[str, Any], ...]:
    """One picture or several; their contents are checked by the dashboards."""
    if value is None:
        return ()
    pictures = value if isinstance(value, list) else [value]
    if not pictures or not all(isinstance(picture, dict) for picture in pictures):
        raise CatalogueError("panel must be a mapping or a list of mappings")
    return tuple(pictures)


def _params(value: Any) -> dict[str, Param]:
    if not isinstance(value, dict):
        raise CatalogueError("params must be a mapping of names, {} for none")
    return {name: _param(name, keys) for name, keys in value.items()}


def _param(name: str, keys: Any) -> Param:
    where = f"parameter {name}"
    if not isinstance(name, str) or not name.isidentifier():
        raise CatalogueError(f"{where} is not a name that SPARQL allows")
    if not name.islower():
        raise CatalogueError(f"{where} has capital letters: options have none")
    if name in RESERVED:
        raise CatalogueError(f"{where}: every query has one of this name; take another")
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
        everywhere=_everywhere(where, keys),
    )
    _check_values(where, param)
    return param


def _everywhere(where: str, keys: Mapping[str, Any]) -> bool:
    """Whether the command line leaves the host open instead of using this host."""
    value = keys.get("everywhere", False)
    if not isinstance(value, bool) or (value and where != "parameter host"):
        raise CatalogueError(f"{where}: everywhere is true or false, and of host alone")
    return value


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
