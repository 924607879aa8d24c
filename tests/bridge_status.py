"""Write the status files of a bridge, in place of a bridge."""

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
    """Write the status of a bridge that samples a host; return the file of all hosts.

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
