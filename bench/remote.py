"""A probe over ssh, compared with a local probe of the same machine."""

import os
import statistics
import time
from collections.abc import Callable
from typing import Any

from bench.table import Figure
from ingest.probe import probe
from ingest.remote.probe import probe_remote
from tests.sshd import Sshd
from tests.stack import Stack

_TIMES = 3


def remote_figures(stack: Stack) -> list[Figure]:
    """From the login to the facts, PCP's included; empty if not root."""
    if os.geteuid() != 0:
        return []
    pmcd = stack.bridge()["pcp"]["address"]
    over = {"/run/pcp": str(stack.home / "pmcd/run")}
    with Sshd("SetEnv PATH=/usr/bin:/bin", over=over) as there:
        far = _seconds(lambda: probe_remote(there.url(), config=there.config))
    near = _seconds(lambda: probe("here", pmcd))
    note = "the same machine probed without ssh"
    return [Figure("probe over ssh, PCP included", far, "s", 5, near, note)]


def _seconds(ask: Callable[[], dict[str, Any]]) -> float:
    found = []
    for _ in range(_TIMES):
        started = time.monotonic()
        assert ask()["sources"]["pcp"]["ok"]
        found.append(time.monotonic() - started)
    return statistics.median(found)
