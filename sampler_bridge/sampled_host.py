"""Everything that samples one host, separate from other hosts."""

import json
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Condition
from typing import Any

from core.linux.files import write_reserved
from sampler_bridge.errors import StateError
from sampler_bridge.local_samplers import LocalAccess, LocalSamplers
from sampler_bridge.plan_watch import PlanReadStatus
from sampler_bridge.sampling.recorder import Recorder
from sampler_bridge.sampling.samplers import Samplers
from sampler_bridge.sending.outbox import Outbox
from sampler_bridge.sending.writer import Writer
from sampler_bridge.status import figures, status_document
from sampler_bridge.transport.host_connection import HostConnection, NewTransport
from sampler_bridge.worker import Worker
from sampling.account.absence import COUNTED_FILE, AbsenceTracker
from sampling.account.cost import Cost
from sampling.events.event import is_counter
from sampling.plan_file.graph_plan import WantedPlan
from sampling.plan_file.plan import (
    SamplingPlan,
    StoredPlan,
    load_plan,
    save_plan,
    split_plan,
)

_LOG = logging.getLogger(__name__)

PLAN_FILE, STATUS_FILE = "plan.json", "status.json"
# Seconds. A store that is killed needs the points of this time again.
_READ_AGAIN_WITHIN = 60.0
_AGENT_ENDS_WITHIN = 1.0


class SampledHost(Worker):
    """One host in its own folder; a change to it does not delay other hosts.

    Its points go into ``outbox``; ``new_transport`` makes a connection to an address;
    ``spread`` is how far apart the ticks of all hosts are (seconds); ``local`` is what
    the bridge reads of this machine itself; ``is_wanted`` says whether the host should
    be sampled, even while it cannot be.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        outbox: Outbox,
        writer: Writer,
        new_transport: NewTransport,
        spread: Callable[[], float | None],
        local: LocalAccess,
    ) -> None:
        super().__init__(f"host-{name}")
        self.name, self.folder, self.outbox = name, folder, outbox
        self.is_wanted = True
        self.kept = load_plan(folder / PLAN_FILE) or StoredPlan()
        self._started = time.time()
        self._plan = SamplingPlan()
        self._address = ""
        self._spread = spread
        self._counted = AbsenceTracker(folder / COUNTED_FILE, self._started)
        self._cost = Cost(writer.latency)
        self._writer = writer
        recorder = Recorder(
            self.outbox.log, self.outbox.account, lambda: not writer.state.up
        )
        self._main = HostConnection(name, new_transport, recorder, self._cost)
        self._counters = HostConnection(name, new_transport, recorder, self._cost)
        self._agents: dict[str, HostConnection] = {}
        self._connection = partial(
            HostConnection, name, new_transport, recorder, self._cost
        )
        self._samplers = self._main.samplers
        self._local = LocalSamplers(name, local, self.figures, self._cost, recorder)
        self._leading = self._samplers  # a fault of these is one of the host
        self._changed = Condition()
        self._wanted: WantedPlan | None = None
        self._given: WantedPlan | None = None
        self._ending: float | None = None
        self._idle_since: float | None = None

    def start(self) -> None:
        """Start to send what an earlier process left, and wait for `sample`.

        Raises StateError if no thread can be started.
        """
        super().start()
        self._writer.add(self.outbox)

    def sample(self, wanted: WantedPlan) -> None:
        """Sample ``wanted`` from now on, at the address that it names."""
        with self._changed:
            if wanted != self._given:
                self._given = self._wanted = wanted
                self._changed.notify()

    def end(self, seconds: float) -> None:
        """Finish the running ticks within ``seconds``; `wait` waits for that."""
        with self._changed:
            self._ending = seconds
            self._changed.notify()

    def wait(self, seconds: float) -> None:
        """Wait for the end, at most ``seconds``."""
        self._join(seconds)

    def close(self) -> None:
        """Stop writing to the log and sending from it."""
        self._writer.remove(self.outbox)
        self.outbox.log.close()

    def forget(self) -> None:
        """Forget when points were last counted.

        Time in which the host had no plan is then not reported as uncounted.
        """
        with suppress(OSError):
            (self.folder / COUNTED_FILE).unlink(missing_ok=True)

    @property
    def _all(self) -> tuple[Samplers, ...]:
        return self._samplers, *self._others

    @property
    def _others(self) -> tuple[Samplers, ...]:
        agents = (one.samplers for one in self._agents.values())
        return self._counters.samplers, *self._local.all, *agents

    @property
    def alive(self) -> bool:
        """Whether all its threads run, including those of its connections."""
        agents = self._agents.values()
        routes = all(one.alive for one in (self._main, self._counters, *agents))
        return super().alive and routes and all(one.alive for one in self._others)

    @property
    def has_ended(self) -> bool:
        """Whether none of its threads writes to its log any more."""
        return not super().alive and all(one.ended for one in self._all)

    @property
    def is_disposable(self) -> bool:
        """Whether its folder can be deleted.

        It is unwanted, has ended, and all its points are sent. The store has been
        reachable since, for so long that it does not need any of them again: an
        unreachable store may have been killed.
        """
        is_needed = self.is_wanted or not self.has_ended or self.outbox.has_more
        if is_needed or not self._writer.state.up:
            self._idle_since = None
            return False
        self._idle_since = self._idle_since or time.monotonic()
        return time.monotonic() - self._idle_since > _READ_AGAIN_WITHIN

    @property
    def last_offset(self) -> float | None:
        """Seconds between the last fetch and its tick; None without an answer."""
        return None if self._leading.reason else self._cost.offset.last

    def summary(self) -> dict[str, Any]:
        """Addresses of the host and its PMCDs, failure reason, losses, status path."""
        return {
            "address": self._address,
            "pcp": self._main.pcp,
            "counters": self._counters.pcp,
            "reason": self._leading.reason,
            "tick_offset_seconds": self._cost.offset.figures(),
            "clock_seconds": self._cost.clock.figures(),
            "losing": self.outbox.account.losing(),
            "queue": {"reason": self.outbox.reason},
            "status": f"{self.folder.parent.name}/{self.folder.name}/{STATUS_FILE}",
        }

    def figures(self) -> Mapping[str, Any]:
        """Counts and measurements, all of one moment."""
        counts = figures(self.outbox, self._cost, self._counted.absence)
        return {**counts, "tick_spread_seconds": self._spread()}

    def write_status(
        self, base: str, reading: PlanReadStatus, stopped: float | None
    ) -> None:
        """Write the status file; if that fails (full disk), the last one stays."""
        counts = self.figures()
        document = status_document(
            host=self.name,
            base=base,
            address=self._address,
            started=self._started,
            stopped=stopped,
            reading=reading,
            plan=self._plan,
            samplers=self._leading,
            others=self._all,
            figures=counts,
            log=self.outbox.log,
            store=self._writer.state,
        )
        try:
            write_reserved(self.folder / STATUS_FILE, json.dumps(document))
        except OSError as error:
            _LOG.debug("no status of %s written: %s", self.name, error.strerror)
        self._keep_count(counts["expected"], stopped is not None)

    def _keep_count(self, expected: int, stopped: bool) -> None:
        """Save when points were counted and how many, even without a status file."""
        try:
            self._counted.keep(time.time(), expected, stopped)
        except OSError as error:
            _LOG.debug("no account of %s written: %s", self.name, error.strerror)

    def _work(self) -> None:
        try:
            while (wanted := self._next()) is not None:
                self._take_up(wanted)
        except StateError as error:
            _LOG.error("%s: %s", self.name, error)
        finally:  # no part of a broken host may continue
            seconds = self._ending or 0.0
            self._main.stop(seconds)
            self._counters.stop(seconds)
            for agent in self._agents.values():
                agent.stop(seconds)
            self._local.stop(seconds)

    def _next(self) -> WantedPlan | None:
        """Wait for the next wanted state; None means the end."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._wanted is not None or self._ending is not None
            )
            wanted, self._wanted = self._wanted, None
            return wanted if self._ending is None else None

    def _take_up(self, wanted: WantedPlan) -> None:
        self._plan, self._address = wanted.plan, wanted.address
        processes, others = self._local.take(wanted.plan)
        # PMU events have their own PMCD if the graph knows one.
        counters, others = split_plan(
            others, lambda m: bool(wanted.counters) and is_counter(m)
        )
        others = self._take_up_agents(wanted, others)
        only = processes.names and not others.names
        self._leading = self._local.processes if only else self._samplers
        self._main.take(others, wanted.address)
        self._counters.take(counters, wanted.address, wanted.counters)
        kept = StoredPlan(wanted.plan, wanted.counters, wanted.agents)
        if kept != self.kept:
            self._keep(kept)

    def _take_up_agents(self, wanted: WantedPlan, plan: SamplingPlan) -> SamplingPlan:
        """Sample the metrics of agents from their own PMCDs; return the others."""
        before = self._agents
        self._agents = {
            name: before.get(name) or self._connection() for name in wanted.agents
        }
        for name in before.keys() - wanted.agents.keys():
            before[name].stop(_AGENT_ENDS_WITHIN)
        for name, connection in self._agents.items():
            own, plan = split_plan(plan, partial(_is_below, f"{name}."))
            connection.take(own, wanted.address, wanted.agents[name])
        return plan

    def _keep(self, kept: StoredPlan) -> None:
        _LOG.info("the graph plans %d metrics of %s", len(kept.plan.names), self.name)
        path = self.folder / PLAN_FILE
        try:
            save_plan(path, *kept)
            self.kept = kept
        except OSError as error:
            _LOG.warning("%s cannot be written: %s", path, error.strerror)


def _is_below(start: str, metric: str) -> bool:
    return metric.startswith(start)
