"""The state folder, found without reading any other setting."""

import os
from collections.abc import Mapping
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
DEFAULT = CHECKOUT / ".state"


def home_of(environment: Mapping[str, str] = os.environ) -> Path:
    """The folder in `SUPERTWIN_HOME`, by default `.state` in the checkout."""
    given = environment.get("SUPERTWIN_HOME")
    return Path(given).expanduser().absolute() if given else DEFAULT
