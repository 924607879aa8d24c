"""The address of a state folder's API, and the key of the folder's owner.

The API writes a new file at each start. The key allows everything, because anyone who
can read the file could also change all state without the API.
"""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path


def _new_key() -> str:
    # Imported here because readers of the file do not need it, and it loads slowly.
    import secrets

    return f"local_{secrets.token_hex(32)}"


@dataclass(frozen=True)
class LocalApi:
    """The API on this machine; ``key`` is used in place of a token."""

    url: str
    key: str = field(default_factory=_new_key, repr=False)

    def text(self) -> str:
        """The content of the file."""
        return json.dumps(asdict(self)) + "\n"


def local_api_file(home: Path) -> Path:
    """Return the path of the file in a state folder."""
    return home / "access" / "local.json"


def read_local_api(home: Path) -> LocalApi | None:
    """Read a state folder's API; None if it never started or is not readable."""
    try:
        return LocalApi(**json.loads(local_api_file(home).read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None
