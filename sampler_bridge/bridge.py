"""The bridge process: the hosts, the sender of points and the reader of plans."""

import json
import logging
import os
import resource
import time
from dataclasses import dataclass, field
from pathlib import Path

from core.linux.cgroups.roots import CgroupRoot
from core.linux.files import write_reserved
from core.linux.signals import StopSignal
from ontology.ids import encode_id
from sampler_bridge.errors import StateError
from sampler_bridge.fleet import HOSTS_FOLDER, Fleet, SamplingSite
from sampler_bridge.plan_watch import PlanWatch
from sampler_bridge.sending.outbox import CURSOR_FILE
from sampler_bridge.sending.writer import Writer
from sampler_bridge.sources.cgroup.watch import CgroupWatch
from sampler_bridge.sources.timed import TimedStore
from sampler_bridge.state_lock import StateLock
from sampler_bridge.status import iso, reading_document
from sampling.account.cost import Latency, process_cost
from sampling.errors import BridgeError

_LOG = logging.getLogger(__name__)

_STATUS_SECONDS = 2.0
_STOP_SECONDS = 5.0
STATUS_FILE = "status.json"
# Files that a bridge for a single host kept directly in the state folder.
_OF_ONE_HOST = ("log", CURSOR_FILE, "plan.json", "counted.json")


@dataclass(frozen=True)
class Options:
    """What a bridge needs: its site, both stores, and which control groups to watch.

    ``fuseki`` and ``store`` are URLs. ``cgroup_keep`` is how many ended control groups
    stay in the list. An account is a user and a password; None if a store needs none.
    """

    place: SamplingSite
    fuseki: str
    store: str
    cgroup_roots: tuple[CgroupRoot, ...] = ()
    cgroup_keep: int = 1000
    fuseki_account: tuple[str, str] | None = field(default=None, repr=False)
    store_account: tuple[str, str] | None = field(default=None, repr=False)


class Bridge:
    """Everything that samples; raises StateError if it cannot start."""

    def __init__(self, options: Options) -> None:
        place = options.place
        self._place = place
        self._started = time.time()
        _raise_open_files_limit()
        self._lock = StateLock(place.state)
        _adopt_old_layout(place.state, place.host)
        latency = Latency()
        store = TimedStore(options.store, options.store_account, place.state, latency)
        self._writer = Writer(store, latency)
        self._cgroups = CgroupWatch(
            options.cgroup_roots, options.cgroup_keep, place.state
        )
        self._fleet = Fleet(place, self._writer, self._cgroups)
        self._plans = PlanWatch(
            options.fuseki, place.state, self._fleet.take, options.fuseki_account
        )

    def run(self, stop: StopSignal) -> None:
        """Sample until stopped, then send waiting points and return.

        Raises BridgeError if a thread that all hosts need has died, or if another
        bridge has locked the state folder.
        """
        for part in (self._writer, self._cgroups, self._plans):
            part.start()
        self._write_status()
        while not stop.wait(_STATUS_SECONDS):
            self._lock.renew()
            self._write_status()
            self._check_parts()
            self._fleet.restart_broken()
        _LOG.info("stopping")
        self._stop()

    def _stop(self) -> None:
        self._plans.stop(0.0)
        self._fleet.end(_STOP_SECONDS)
        self._cgroups.stop(_STOP_SECONDS)
        self._writer.stop(_STOP_SECONDS)
        self._fleet.close()
        if self._place.probes:
            self._place.probes.close()
        self._write_status(stopped=time.time())
        self._lock.release()

    def _check_parts(self) -> None:
        for part in (self._writer, self._cgroups, self._plans):
            if not part.alive:
                name = type(part).__name__
                raise BridgeError(f"{name} broke: see the traceback above; restart")

    def _write_status(self, stopped: float | None = None) -> None:
        self._fleet.write_status(self._plans.reading, stopped)
        document = {
            "pid": os.getpid(),
            "started": iso(self._started),
            "stopped": None if stopped is None else iso(stopped),
            "host": self._place.host,
            "plan": reading_document(self._plans.reading),
            "store": self._writer.state._asdict(),
            "processes": self._place.processes.document(),
            "probes": self._place.probes.document() if self._place.probes else {},
            **process_cost(),
            **self._fleet.document(),
        }
        try:
            path = self._place.state / STATUS_FILE
            write_reserved(path, json.dumps(document))
        except OSError as error:
            _LOG.debug("no status written: %s", error.strerror)


def _raise_open_files_limit() -> None:
    """Raise the limit on open files, since each host needs several.

    PCP can only use descriptors below 1,024: see `core.linux.pmapi.fd_limit`.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _adopt_old_layout(state: Path, host: str) -> None:
    """Move what a bridge for a single host left, points included, to a host folder."""
    folder = state / HOSTS_FOLDER / encode_id(host)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in _OF_ONE_HOST:
            if (state / name).exists() and not (folder / name).exists():
                (state / name).rename(folder / name)
    except OSError as error:
        raise StateError(
            f"state folder {state} cannot be used ({error.strerror}): fix it, or give "
            "another --state"
        ) from error
