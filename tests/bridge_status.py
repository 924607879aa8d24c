"""The files in which a bridge says how it does, as tests write them in its place."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ontology.iris import encode_id


def write_status(
    state: Path, status: Mapping[str, Any], unreached: Mapping[str, str] | None = None
) -> Path:
    """Let a bridge of a state folder sample one host; the file of its own status."""
    host = str(status["host"])
    document = {"hosts": {host: {}}, "unreached": unreached or {}}
    folder = state / "hosts" / encode_id(host)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "status.json").write_text(json.dumps(status))
    path = state / "status.json"
    path.write_text(json.dumps(document))
    return path
