"""What the reader of this machine's exporters reports."""

from pathlib import Path

from core.settings.state import read_json
from sampling.agents.configuration import current_folder
from sampling.agents.exporter_fetch import STATUS


def last_failure(home: Path, exporter: str, url: str) -> str:
    """Why the last read of an exporter failed; empty if it did not, or is not known.

    ``home`` is the folder of the agent's PMCD. Another host's exporter of the same name
    has another URL.
    """
    folder = current_folder(home)
    found = (read_json(folder / STATUS) or {}).get(exporter) if folder else None
    if not isinstance(found, dict) or found.get("url") != url:
        return ""
    return str(found.get("reason") or "")
