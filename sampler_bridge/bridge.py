"""The process: plan, samplers, log and writer of one host, and its status file."""

import fcntl
import json
import logging
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

from sampler_bridge.absence import Counted
from sampler_bridge.account import Account
from sampler_bridge.cost import Cost
from sampler_bridge.cursor import load_cursor
from sampler_bridge.errors import BridgeError, StateError
from sampler_bridge.files import write_reserved
from sampler_bridge.graph_plan import PlanWatch
from sampler_bridge.log import Log
from sampler_bridge.own_metrics import is_own
from sampler_bridge.own_source import OwnSource
from sampler_bridge.pcp_source import PcpSource
from sampler_bridge.perfevent.event import is_counter
from sampler_bridge.plan import Plan, parted
from sampler_bridge.recorder import Recorder
from sampler_bridge.samplers import Samplers
from sampler_bridge.status import figures, status_document
from sampler_bridge.timed import TimedSource, TimedStore
from sampler_bridge.writer import Writer

_LOG = logging.getLogger(__name__)

_STATUS_SECONDS = 1.0
_STOP_SECONDS = 5.0
PLAN_FILE, STATUS_FILE, CURSOR_FILE = "plan.json", "status.json", "cursor.json"
COUNTED_FILE = "counted.json"
LOG_FOLDER, LOCK_FILE = "log", "lock"


@dataclass(frozen=True)
class Options:
    """What the bridge of one host is told: addresses, state folder, bytes of log.

    Accounts are user and password, None where a store asks for none.
    """

    host: str
    pcp: str
    fuseki: str
    base: str
    store: str
    state: Path
    log_max_bytes: int
    counters: str = ""
    fuseki_account: tuple[str, str] | None = field(default=None, repr=False)
    store_account: tuple[str, str] | None = field(default=None, repr=False)


class Bridge:
    """Everything that samples one host; raises StateError where it cannot start."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._started = time.time()
        self._lock = _lock(options.state)
        cursor_path = options.state / CURSOR_FILE
        cursor = load_cursor(cursor_path)
        self._log = Log(options.state / LOG_FOLDER, options.log_max_bytes, cursor.taken)
        self._account = Account(self._log.waiting)
        self._cost = Cost()
        self._counted = Counted(options.state / COUNTED_FILE, self._started)
        store = TimedStore(options.store, options.store_account, self._cost)
        self._writer = Writer(self._log, store, self._account, cursor, cursor_path)
        recorder = Recorder(self._log, self._account, lambda: not self._writer.state.up)
        self._samplers = Samplers(
            options.host,
            lambda: TimedSource(PcpSource(options.pcp), self._cost),
            recorder,
        )
        self._counters = Samplers(
            options.host,
            lambda: TimedSource(PcpSource(options.counters or options.pcp), self._cost),
            recorder,
        )
        self._own = Samplers(options.host, lambda: OwnSource(self._figures), recorder)
        self._plan = PlanWatch(
            options.fuseki,
            options.host,
            options.state / PLAN_FILE,
            self._apply,
            options.fuseki_account,
        )

    def run(self, stop: Event) -> None:
        """Sample until SIGTERM or SIGINT, then send what waits and return.

        The caller has blocked these signals. Raises BridgeError when a part of the
        bridge broke.
        """
        for part in (self._writer, self._plan):
            part.start()
        self._write_status()
        while not stop.wait(_STATUS_SECONDS):
            self._write_status()
            self._check_parts()
        _LOG.info("stopping")
        self._stop()

    def _stop(self) -> None:
        self._plan.stop(0.0)
        self._samplers.stop(_STOP_SECONDS)
        self._counters.stop(_STOP_SECONDS)
        self._own.stop(_STOP_SECONDS)
        self._writer.stop(_STOP_SECONDS)
        self._log.close()
        self._write_status(stopped=time.time())
        os.close(self._lock)

    def _check_parts(self) -> None:
        samplers = (self._samplers, self._counters, self._own)
        for part in (self._writer, self._plan, *samplers):
            if not part.alive:
                name = type(part).__name__
                raise BridgeError(f"{name} broke: see the traceback above; restart")

    def _apply(self, plan: Plan) -> None:
        """Sample a plan: what it wants of the bridge itself, apart from any PMCD.

        PMU events have a PMCD to themselves.
        """
        own, others = parted(plan, is_own)
        counters, others = parted(others, is_counter)
        self._samplers.apply(others)
        self._counters.apply(counters)
        self._own.apply(own)

    def _figures(self) -> Mapping[str, Any]:
        return figures(self._account, self._log, self._cost, self._counted.absence)

    def _write_status(self, stopped: float | None = None) -> None:
        counts = self._figures()
        document = status_document(
            host=self._options.host,
            base=self._options.base,
            pcp=self._options.pcp,
            started=self._started,
            stopped=stopped,
            reading=self._plan.reading,
            samplers=self._samplers,
            others=(self._counters, self._own),
            figures=counts,
            log=self._log,
            store=self._writer.state,
        )
        try:
            path = self._options.state / STATUS_FILE
            write_reserved(path, json.dumps(document, indent=1))
            self._counted.keep(time.time(), counts["expected"], stopped is not None)
        except OSError as error:
            _LOG.debug("no status written: %s", error.strerror)


def _lock(state: Path) -> int:
    """Make the state folder ours: two bridges in one would mix their logs."""
    try:
        state.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(state / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise StateError(
            f"state folder {state} cannot be used ({error.strerror}): give another"
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise StateError(
            f"state folder {state} is another bridge's: stop that one, or give another"
        ) from error
    return descriptor
