"""Where the API of a state folder listens, and the key of who owns that folder.

The API writes it anew at each start. Whoever can read it could change all state without
the API, so it lets do everything.
"""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path


def _new_key() -> str:
    # Who only reads the file need not wait for all that secrets imports.
    import secrets

    return f"local_{secrets.token_hex(32)}"


@dataclass(frozen=True)
class LocalApi:
    """The API on this machine; ``key`` goes where else a token would."""

    url: str
    key: str = field(default_factory=_new_key, repr=False)

    def text(self) -> str:
        """What the file holds."""
        return json.dumps(asdict(self)) + "\n"


def local_api_file(home: Path) -> Path:
    """The file of a state folder."""
    return home / "access" / "local.json"


def read_local_api(home: Path) -> LocalApi | None:
    """The API of a state folder; None where it was never started, or for others."""
    try:
        return LocalApi(**json.loads(local_api_file(home).read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None
