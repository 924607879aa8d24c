"""Grafana's schema, generated from its own types, applied to whole dashboards."""

import hashlib
import json
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator

from tests.dashboards.node import MODULES, node

_HERE = Path(__file__).parent
_TYPES = _HERE / "grafana_types.ts"
_MAKER = _HERE / "make_schema.mjs"
_CACHE = MODULES.parent / "schemas"
_CONFIG = {
    "compilerOptions": {
        "strict": True,
        "moduleResolution": "node",
        "module": "es2022",
        "target": "es2022",
        "skipLibCheck": True,
        "types": [],
    }
}


def violations(document: Mapping[str, Any]) -> list[str]:
    """Where a dashboard does not match Grafana's types, one line each.

    Panels are checked by the type of their kind, with options and field configuration.
    """
    panels = [
        (f"panels/{at}/{place}".rstrip("/"), panel)
        for at, outer in enumerate(document["panels"])
        for place, panel in _with_inner(outer)
    ]
    found = list(_lines("", "Generated", _without_panels(document)))
    for place, panel in panels:
        name = f"Panel{str(panel['type']).capitalize()}"
        if name in _validators():
            found += _lines(f"{place}/", name, _without_panels(panel))
        else:
            found.append(f"{place}/type: unknown kind of panel {panel['type']!r}")
    return found


def _with_inner(panel: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield "", panel
    for at, inner in enumerate(panel.get("panels", [])):
        yield f"panels/{at}", inner


def _without_panels(item: Mapping[str, Any]) -> dict[str, Any]:
    """The item with the panels' types only: each panel is checked by itself."""
    if "panels" not in item:
        return dict(item)
    return {**item, "panels": [{"type": one["type"]} for one in item["panels"]]}


def _lines(place: str, name: str, item: Mapping[str, Any]) -> Iterator[str]:
    for error in _validators()[name].iter_errors(item):
        path = "/".join(map(str, error.absolute_path))
        yield f"{place}{path}: {error.message[:200]}"


@cache
def _validators() -> dict[str, Draft7Validator]:
    return {name: Draft7Validator(schema) for name, schema in _schemas().items()}


def _schemas() -> dict[str, Any]:
    """The schemas by type, cached until the types or Grafana's packages change."""
    lock = MODULES.parent / "package-lock.json"
    sources = b"\n".join(path.read_bytes() for path in (_TYPES, _MAKER, lock))
    kept = _CACHE / f"{hashlib.sha256(sources).hexdigest()[:16]}.json"
    if not kept.exists():
        _CACHE.mkdir(exist_ok=True)
        # Next to the modules, where the compiler finds them.
        with tempfile.TemporaryDirectory(dir=_CACHE) as folder:
            made = _made(Path(folder))
            made.replace(kept)
    schemas: dict[str, Any] = json.loads(kept.read_text("utf-8"))
    return schemas


def _made(folder: Path) -> Path:
    types, config, made = (folder / name for name in ("t.ts", "t.json", "made.json"))
    types.write_bytes(_TYPES.read_bytes())
    config.write_text(json.dumps(_CONFIG))
    command = [node(), _MAKER, MODULES, types, config]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    made.write_text(done.stdout)
    return made
