"""The files in which a bridge says how it does, as tests write them in its place."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ontology.iris import encode_id


def write_status(
    state: Path,
    status: Mapping[str, Any],
    unreached: Mapping[str, str] | None = None,
    others: Mapping[str, Any] | None = None,
    unusable: Sequence[str] = (),
) -> Path:
    """Let a bridge of a state folder sample a host; the file of its own status.

    ``others`` are the summaries of further hosts.
    """
    host = str(status["host"])
    document = {
        "hosts": {host: {}, **(others or {})},
        "unreached": unreached or {},
        "unusable": unusable,
    }
    folder = state / "hosts" / encode_id(host)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "status.json").write_text(json.dumps(status))
    path = state / "status.json"
    path.write_text(json.dumps(document))
    return path
