"""Saved queries for tests: any panel header and any rows, without a graph."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dashboards.catalogue import Definition, load_dashboards
from dashboards.header import SERIES_COLUMNS
from queries.catalogue import load_catalogue

SERIES = {"dashboard": "own", "picture": "timeseries"}
TABLE = {"dashboard": "own", "picture": "table"}


def query_text(
    panel: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    columns: Sequence[str] = SERIES_COLUMNS,
    params: str = "{host: {type: string}}",
    body: str = "",
) -> str:
    """A saved query with this header; ``body`` is the content of its WHERE."""
    head = {"title": "Own", "description": "Rows of a test.", "panel": panel}
    lines = [f"{key}: {json.dumps(value)}" for key, value in head.items()]
    lines += [f"params: {params}", f"returns: [{', '.join(columns)}]"]
    header = "".join(f"#+ {line}\n" for line in lines)
    names = " ".join(f"?{name}" for name in columns)
    row = "VALUES (?host) { (UNDEF) }\n" if "host" in params else ""
    body = body or "?node <urn:name> ?host . "
    return f"{header}SELECT {names} WHERE {{\n{row}{body}\n}}\n"


def save(folder: Path, name: str, text: str) -> None:
    """Write a saved query to a folder that a catalogue reads."""
    path = folder / f"{name}.rq"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def saved_dashboards(folder: Path) -> Mapping[str, Definition]:
    """The dashboards of the saved queries of a folder."""
    return load_dashboards(load_catalogue(folder))
