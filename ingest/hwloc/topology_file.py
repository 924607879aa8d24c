"""hwloc's XML of each host, kept as ``topology/{host}.xml`` for drawing."""

import os
from pathlib import Path

from ontology.iris import encode_id


def topology_path(home: Path, host: str) -> Path:
    """The file of one host in the state folder; raises IdError."""
    return home / "topology" / f"{encode_id(host)}.xml"


def keep_xml(home: Path, host: str, xml: str | None) -> str:
    """Store the XML of a host; None, from a probe without it, deletes the old file.

    Readers find the old file or the new one. Returns one line if the file could not be
    stored (only the drawing is then missing), else an empty text.
    """
    path = topology_path(home, host)
    try:
        if xml is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            _replace(path, xml.encode())
        else:
            path.unlink(missing_ok=True)
    except (OSError, UnicodeEncodeError) as error:
        return (
            f"the topology was not stored ({path}: {error}), so the host has no "
            "drawing: fix this, and load the host again"
        )
    return ""


def _replace(path: Path, content: bytes) -> None:
    partial = path.with_name(f".{os.getpid()}.partial")
    try:
        partial.write_bytes(content)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
