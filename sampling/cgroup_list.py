"""The control groups that the bridge watches on this host, from its list."""

import json

from core.linux.cgroups.errors import CgroupError
from core.linux.cgroups.ledger import LEDGER_FILE, Ledger, read_ledger
from core.settings.settings import Settings


def read_groups(settings: Settings) -> Ledger:
    """The bridge's list; empty if there is no readable one."""
    path = settings.home / "bridge" / LEDGER_FILE
    try:
        return read_ledger(json.loads(path.read_bytes()))
    except (OSError, ValueError, CgroupError):
        return Ledger("", {})
