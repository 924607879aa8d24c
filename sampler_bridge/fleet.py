"""The hosts that are sampled: those with a plan and an address in the graph."""

import logging
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any

from core.linux.ssh.address import parse_address
from core.linux.ssh.errors import AddressError
from ontology.ids import IdError, decode_id, encode_id
from queries.natural_order import natural
from sampler_bridge.errors import StateError
from sampler_bridge.local_samplers import LocalAccess
from sampler_bridge.plan_watch import PlanReadStatus, load_addresses, save_addresses
from sampler_bridge.sampled_host import PLAN_FILE, SampledHost
from sampler_bridge.sending.outbox import Outbox
from sampler_bridge.sending.writer import Writer
from sampler_bridge.sources.cgroup.watch import CgroupWatch
from sampler_bridge.sources.probes.probe_set import ProbeSet
from sampler_bridge.sources.processes.access import ProcessAccess
from sampler_bridge.transport.forward import PMCD_SOCKET, SshForward
from sampler_bridge.transport.sockets import sockets_folder
from sampler_bridge.transport.transport import DirectTransport, Transport
from sampling.plan_file.graph_plan import WantedPlan
from sampling.plan_file.plan import StoredPlan, load_plan

_LOG = logging.getLogger(__name__)

HOSTS_FILE, HOSTS_FOLDER = "hosts.json", "hosts"
_TRY_AGAIN_SECONDS = 10.0
# How long a thread holds the GIL while others wait for it. A thread that has fetched
# should not wait for a thread that decodes. But each waiting thread wakes after this
# time: at 10 us, two of them in real time keep two CPUs so busy that the thread with
# the GIL does not run. With many hosts, many threads wake at the same tick.
QUICK_SWITCH_SECONDS, _USUAL_SWITCH_SECONDS = 0.0001, 0.005
_FEW_HOSTS = 2


@dataclass(frozen=True)
class SamplingSite:
    """Where hosts are sampled from: this machine's name and PMCD, and the state folder.

    ``ssh_config`` replaces ~/.ssh/config; ``processes`` and ``probes`` read this one.
    """

    host: str
    pcp: str
    base: str
    state: Path
    log_max_bytes: int
    ssh_config: Path | None = None
    processes: ProcessAccess = ProcessAccess()
    probes: ProbeSet | None = None


class Fleet:
    """All hosts, always including this machine.

    ``unreached`` has the hosts that are not sampled, with the reason. The fleet starts
    with the hosts that the previous bridge sampled. If the folder of a host is
    unusable, even of this machine, the others are still sampled, and `restart_broken`
    tries that host again.
    """

    def __init__(
        self, place: SamplingSite, writer: Writer, cgroups: CgroupWatch
    ) -> None:
        self.unreached: Mapping[str, str] = {}
        self._place = place
        self._writer = writer
        self._cgroups = cgroups
        self._lock = Lock()
        self._hosts: dict[str, SampledHost] = {}
        self._leaving: list[SampledHost] = []
        self._numbers = count(1)
        self._sockets: Path | None = None
        self._wanted: dict[str, WantedPlan] = {}
        self._try_again_at = 0.0
        self._spread: float | None = None
        self._is_ending = False
        self._start_from_saved()

    @property
    def hosts(self) -> list[SampledHost]:
        """The sampled hosts, by name."""
        with self._lock:
            return [self._hosts[name] for name in sorted(self._hosts, key=natural)]

    def take(self, wanted: Mapping[str, WantedPlan]) -> None:
        """Sample what is wanted of each host, and stop sampling all other hosts."""
        reachable: dict[str, WantedPlan] = {
            self._place.host: WantedPlan(address=self._place.pcp)
        }
        unreached: dict[str, str] = {}
        for host, of in wanted.items():
            try:
                address = self._address(host, of.address)
                reachable[host] = replace(of, address=address)
            except (AddressError, IdError) as error:
                unreached[host] = str(error)
        with self._lock:
            if self._is_ending:  # the graph was being read when the fleet ended
                return
            self._take(reachable, unreached)
        self._save()

    def restart_broken(self) -> None:
        """Restart broken hosts, retry unusable ones, and delete hosts that left."""
        with self._lock:
            for name, host in list(self._hosts.items()):
                if not host.alive:
                    _LOG.error("%s broke, see above: it is restarted", name)
                    self._drop(host)
                    self._try_again_at = time.monotonic() + _TRY_AGAIN_SECONDS
            if self._is_incomplete and time.monotonic() >= self._try_again_at:
                self._take(dict(self._wanted), dict(self.unreached))
            for host in [one for one in self._leaving if one.is_disposable]:
                self._leaving.remove(host)
                host.close()
                shutil.rmtree(host.folder, ignore_errors=True)

    def write_status(
        self, reading: PlanReadStatus, stopped: float | None = None
    ) -> None:
        """Write the status file of each host."""
        for host in self.hosts:
            host.write_status(self._place.base, reading, stopped)

    def document(self) -> dict[str, Any]:
        """The sampled hosts and their state, the unreached hosts, the tick spread."""
        hosts = self.hosts
        known = [one.last_offset for one in hosts]
        offsets = [offset for offset in known if offset is not None]
        self._spread = round(max(offsets) - min(offsets), 6) if offsets else None
        return {
            "hosts": {one.name: one.summary() for one in hosts},
            "unreached": dict(sorted(self.unreached.items())),
            # Without hosts that have no usable address: their own bridge may sample
            # them.
            "unusable": sorted(self.unreached.keys() & self._wanted.keys()),
            "tick_spread_seconds": self._spread,
        }

    def end(self, seconds: float) -> None:
        """Finish all running ticks within ``seconds``, and accept no more plans."""
        until = time.monotonic() + seconds
        with self._lock:
            self._is_ending = True
        everyone = [*self.hosts, *self._leaving]
        for host in everyone:
            host.end(seconds)
        for host in everyone:
            host.wait(max(0.0, until - time.monotonic()))

    def close(self) -> None:
        """Close all logs, and remove the sockets."""
        for host in [*self.hosts, *self._leaving]:
            host.close()
        if self._sockets is not None:
            shutil.rmtree(self._sockets, ignore_errors=True)

    @property
    def _is_incomplete(self) -> bool:
        return any(
            name not in self._hosts or name in self.unreached for name in self._wanted
        )

    def _take(
        self, reachable: dict[str, WantedPlan], unreached: dict[str, str]
    ) -> None:
        self._wanted = reachable
        for name in self._hosts.keys() - reachable.keys():
            self._leave(self._hosts.pop(name))
        for host in self._leaving:
            host.is_wanted &= host.name in reachable
        for name, wanted in reachable.items():
            try:
                self._open_sockets(wanted.address)
                host = self._hosts.get(name) or self._new_host(name)
            except StateError as error:
                _LOG.error("%s: %s", name, error)
                unreached[name] = str(error)
                self._try_again_at = time.monotonic() + _TRY_AGAIN_SECONDS
                continue
            unreached.pop(name, None)
            self._hosts[name] = host
            host.sample(wanted)
        self.unreached = unreached
        few = len(self._hosts) <= _FEW_HOSTS
        sys.setswitchinterval(QUICK_SWITCH_SECONDS if few else _USUAL_SWITCH_SECONDS)

    def _address(self, host: str, address: str) -> str:
        """The address of a host for PCP or ssh; raises AddressError, IdError."""
        if host == self._place.host:
            return self._place.pcp
        encode_id(host)
        if not address:
            raise AddressError(
                "it has a plan, but no address: another bridge samples it, or "
                "`supertwin add ssh://…` gives it one"
            )
        if address.startswith("unix://"):
            return address
        return str(parse_address(address))

    def _transport(self, address: str, socket: str) -> Transport:
        """The connection to a host's PMCD, or to one behind another socket there."""
        if not address.startswith("ssh://"):
            return DirectTransport(f"unix://{socket}" if socket else address)
        assert self._sockets is not None  # noqa: S101
        name = str(next(self._numbers))
        config = self._place.ssh_config
        where = parse_address(address)
        return SshForward(where, self._sockets, name, config, socket or PMCD_SOCKET)

    def _open_sockets(self, address: str) -> None:
        """Create the folder of sockets that ssh addresses need; raises StateError."""
        if self._sockets is None and address.startswith("ssh://"):
            self._sockets = sockets_folder(self._place.state)

    def _folder(self, name: str) -> Path:
        return self._place.state / HOSTS_FOLDER / encode_id(name)

    def _new(self, name: str, outbox: Outbox | None = None) -> SampledHost:
        place = self._place
        folder = self._folder(name)
        box = outbox or Outbox(folder, place.log_max_bytes, self._writer.notify)
        local = LocalAccess(self._cgroups, place.processes, place.probes)
        host = SampledHost(
            *(name, folder, box, self._writer, self._transport, lambda: self._spread),
            local if name == place.host else LocalAccess(),
        )
        try:
            host.start()
        except StateError:
            if outbox is None:
                box.log.close()
            raise
        return host

    def _new_host(self, name: str) -> SampledHost:
        """Start a host that is not sampled at present; raises StateError."""
        last = next((one for one in self._leaving if one.name == name), None)
        if last is None:
            return self._new(name)
        if not last.has_ended:
            raise StateError("its previous samplers have not ended yet: waiting")
        if not last.is_wanted:
            last.forget()
        # The sender may be using the outbox: a second one would share its files.
        last.outbox.restart_account()
        host = self._new(name, last.outbox)
        self._leaving.remove(last)
        return host

    def _start_from_saved(self) -> None:
        """Start the hosts that are known without the graph, this machine first."""
        known = load_addresses(self._place.state / HOSTS_FILE)
        for name, address in {self._place.host: "", **known}.items():
            try:
                self._resume(name, address)
            except (AddressError, IdError, StateError) as error:
                _LOG.error("%s: %s", name, error)
                self.unreached = {**self.unreached, name: str(error)}
        for name in self._unsent_hosts():
            try:
                self._leave(self._new(name))
            except StateError as error:
                _LOG.error("%s: %s", name, error)

    def _resume(self, name: str, known: str) -> None:
        address = self._address(name, known)
        try:
            host = self._hosts[name] = self._new(name)
        except StateError:
            kept = load_plan(self._folder(name) / PLAN_FILE) or StoredPlan()
            self._wanted[name] = WantedPlan(kept.plan, address, *kept[1:])
            raise
        self._wanted[name] = WantedPlan(host.kept.plan, address, *host.kept[1:])
        self._open_sockets(address)
        host.sample(self._wanted[name])

    def _unsent_hosts(self) -> Iterator[str]:
        """Names of unwanted hosts that have a folder, which may hold points."""
        for folder in (self._place.state / HOSTS_FOLDER).iterdir():
            with suppress(IdError):
                if (name := decode_id(folder.name)) not in self._wanted:
                    yield name

    def _leave(self, host: SampledHost) -> None:
        _LOG.info("%s is no longer sampled", host.name)
        host.is_wanted = False
        host.end(0.0)
        self._leaving.append(host)

    def _drop(self, host: SampledHost) -> None:
        """Stop a broken host; it is started again once all its threads have ended."""
        del self._hosts[host.name]
        host.end(0.0)
        self._leaving.append(host)

    def _save(self) -> None:
        path = self._place.state / HOSTS_FILE
        try:
            save_addresses(path, dict(self._load_known()))
        except OSError as error:
            _LOG.warning("%s cannot be written: %s", path, error.strerror)

    def _load_known(self) -> Iterator[tuple[str, str]]:
        for name, wanted in sorted(self._wanted.items()):
            if name != self._place.host:
                yield name, wanted.address
