"""Reads the plans and addresses of all hosts from the graph, repeatedly."""

import json
import logging
import time
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Literal

from core.linux.files import read_json, write_whole
from core.stores.endpoint import Endpoint
from sampler_bridge.worker import Worker
from sampling.errors import PlanError
from sampling.plan_file.graph_plan import Plans, WantedPlan
from sampling.plan_file.notify import NotificationPipe, PlanName, notify

_LOG = logging.getLogger(__name__)

_DATASET = "twin"
_TIMEOUT = 30.0
_FORMAT = "supertwin-hosts/1"
READ_AGAIN_SECONDS = 3.0
# The largest share of the graph store's time that reads may take: reading the plans of
# many hosts takes a while.
_BUSY_PART = 1 / 20
_LONGEST_PAUSE = 60.0


@dataclass(frozen=True)
class PlanReadStatus:
    """When the graph was last read (Unix seconds), and why not since.

    ``source`` is the origin of the plans that are sampled now.
    """

    read_at: float | None = None
    source: Literal["graph", "cache"] = "cache"
    reason: str | None = "the graph was not reached yet"


class PlanWatch(Worker):
    """Follows the plans in the graph; the last plans stay while it cannot be read.

    The graph is read every few seconds, less often if a read takes long, and at once
    after a notification in the state folder. A notification that names a plan causes a
    read of that plan only. ``take`` receives the wanted state of all hosts when it has
    changed.
    """

    def __init__(
        self,
        fuseki: str,
        state: Path,
        take: Callable[[Mapping[str, WantedPlan]], None],
        account: tuple[str, str] | None = None,
    ) -> None:
        super().__init__("plan")
        self.reading = PlanReadStatus()
        dataset = f"{fuseki.rstrip('/')}/{_DATASET}"
        self._endpoint = Endpoint(dataset, _TIMEOUT, account=account)
        self._plans = Plans(self._endpoint)
        self._last: Mapping[str, WantedPlan] | None = None
        self._state = state
        self._notifications = NotificationPipe(state)
        self._take = take
        self._stop = Event()

    def stop(self, seconds: float) -> None:
        """Stop within ``seconds``."""
        self._stop.set()
        notify(self._state)
        self._thread.join(seconds)

    def _work(self) -> None:
        changed: Set[PlanName] = frozenset()
        until = 0.0
        while not self._stop.is_set():
            if changed and time.monotonic() < until:
                took = self._read(changed)
                until = min(until, self._next(took)) if self.reading.reason else until
            else:
                until = self._next(self._read())
            changed = self._notifications.wait(max(until - time.monotonic(), 0.0))
        self._notifications.close()
        self._endpoint.close()

    def _next(self, took: float) -> float:
        """When to read everything again."""
        pause = min(max(took / _BUSY_PART, READ_AGAIN_SECONDS), _LONGEST_PAUSE)
        return time.monotonic() + pause

    def _read(self, changed: Set[PlanName] = frozenset()) -> float:
        """Read all plans, or those that changed; return the seconds it took."""
        began = time.monotonic()
        try:
            wanted = self._plans.reread(changed) if changed else self._plans.read()
        except PlanError as error:
            self._keep_last(str(error))
            return 0.0
        took = time.monotonic() - began
        self.reading = PlanReadStatus(time.time(), "graph", None)
        if wanted != self._last:
            self._take(wanted)
            self._last = wanted
        return took

    def _keep_last(self, reason: str) -> None:
        last = self.reading
        if reason != last.reason:
            _LOG.warning("%s", reason)
        self.reading = PlanReadStatus(last.read_at, last.source, reason)


def save_addresses(path: Path, addresses: Mapping[str, str]) -> None:
    """Save which hosts are sampled, and their addresses; raises OSError."""
    document = {"format": _FORMAT, "hosts": dict(addresses)}
    write_whole(path, json.dumps(document, indent=1))


def load_addresses(path: Path) -> dict[str, str]:
    """The saved addresses; empty if no readable file exists."""
    try:
        return _read_addresses(read_json(path))
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        _LOG.warning(
            "%s is not a list of hosts (%s): waiting for the graph", path, error
        )
    return {}


def _read_addresses(document: object) -> dict[str, str]:
    """Parse a saved document; raises ValueError if save_addresses did not write it."""
    match document:
        case {"format": str(form), "hosts": dict(hosts)} if form == _FORMAT:
            if all(isinstance(t, str) for pair in hosts.items() for t in pair):
                return hosts
    raise ValueError("unexpected format")
