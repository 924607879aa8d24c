"""The plans and addresses of all hosts as the graph has them, read again and again."""

import json
import logging
import time
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from threading import Event
from typing import Any, Literal

from queries.asking import saved_rows
from queries.catalogue import saved_query
from queries.endpoint import JSON_RESULTS, Endpoint
from queries.errors import QueriesError
from queries.results import read_rows
from sampler_bridge.errors import PlanError
from sampler_bridge.files import read_json, write_whole
from sampler_bridge.perfevent.event import is_counter
from sampler_bridge.plan.nudge import Named, Nudges, nudge
from sampler_bridge.plan.plan import Plan, make_plan
from sampler_bridge.worker import Worker

_LOG = logging.getLogger(__name__)

_PLANS, _HOSTS = "telemetry/sampling", "telemetry/sampled-hosts"
_ONE_PLAN = "telemetry/one-plan"
_DATASET = "twin"
_TIMEOUT = 30.0
_FORMAT = "supertwin-hosts/1"
READ_AGAIN_SECONDS = 3.0
# Plans of many hosts take the store a while: that keeps it busy for at most this part.
_BUSY_PART = 1 / 20
_LONGEST_PAUSE = 60.0

Row = dict[str, Any]


@dataclass(frozen=True)
class Wanted:
    """What the graph wants of one host: its plan, and the address that it has there.

    ``counters`` is the socket, on the host, of the PMCD that counts PMU events.
    """

    plan: Plan = field(default_factory=Plan)
    address: str = ""
    counters: str = ""


@dataclass(frozen=True)
class Reading:
    """When the graph was read (Unix seconds), and why not again since.

    ``source`` is where the plans come from that are sampled now.
    """

    read_at: float | None = None
    source: Literal["graph", "cache"] = "cache"
    reason: str | None = "the graph was not reached yet"


def read_plan(endpoint: Endpoint, host: str) -> Plan:
    """What the graph plans for a host; raises PlanError."""
    try:
        answer = endpoint.select(saved_query(_PLANS).bind({"host": host}))
    except QueriesError as error:
        raise PlanError(f"the plan of {host} cannot be read: {error}") from error
    return make_plan(answer.records())


class Plans:
    """The plans of all hosts behind an endpoint; what did not change is read once."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._answers: dict[str, tuple[bytes, list[Row]]] = {}
        self._made: dict[str, tuple[list[Row], Plan]] = {}
        self._wanted: dict[str, Wanted] = {}

    def reread(self, changed: Set[Named]) -> dict[str, Wanted]:
        """The same, where only these plans have changed; raises PlanError.

        Nothing else is read where that is enough: what else a host has is as before.
        """
        for named in changed:
            if not self._reread(named):
                return self.read()
        return self._wanted

    def read(self) -> dict[str, Wanted]:
        """What is wanted of each host that has a plan; raises PlanError."""
        try:
            hosts = {row["host"]: row for row in self._rows(_HOSTS)}
            rows = self._rows(_PLANS)
        except QueriesError as error:
            raise PlanError(f"the plans cannot be read: {error}") from error
        by_host = groupby(rows, itemgetter("host"))
        plans = {host: self._plan(host, list(of)) for host, of in by_host}
        self._made = {host: self._made[host] for host in plans}
        self._wanted = {
            host: _wanted(plan, hosts.get(host)) for host, plan in plans.items()
        }
        return self._wanted

    def _reread(self, named: Named) -> bool:
        """Take in one plan of a host, if that is all that can have changed there.

        The first plan of a host brings an address, and the last takes it along; the
        first counter brings a PMCD.
        """
        if named.host not in self._made:
            return False
        try:
            new = saved_rows(self._endpoint, _ONE_PLAN, named._asdict())
        except QueriesError as error:
            raise PlanError(f"the plans cannot be read: {error}") from error
        before = self._made[named.host][0]
        old = [row for row in before if row["plan"] == named.plan]
        rows = [row for row in before if row["plan"] != named.plan]
        rows += [{name: row[name] for name in before[0]} for row in new]
        if not rows or any(is_counter(row["samplerName"]) for row in (*old, *new)):
            return False
        rows.sort(key=itemgetter("plan"))
        plan = self._plan(named.host, rows)
        known = replace(self._wanted[named.host], plan=plan)
        self._wanted = {**self._wanted, named.host: known}
        return True

    def _rows(self, name: str) -> list[Row]:
        """The rows of a saved query, parsed again only if its answer is another one."""
        body = self._endpoint.answer(saved_query(name).bind({}), JSON_RESULTS)
        known = self._answers.get(name)
        if known is None or known[0] != body:
            found = read_rows(body)
            rows = [dict(zip(found.columns, r, strict=True)) for r in found.values()]
            known = self._answers[name] = (body, rows)
        return known[1]

    def _plan(self, host: str, rows: list[Row]) -> Plan:
        made = self._made.get(host)
        if made is None or made[0] != rows:
            made = self._made[host] = (rows, make_plan(rows))
        return made[1]


def _wanted(plan: Plan, row: Row | None) -> Wanted:
    known = row or {"address": None, "counters": None}
    return Wanted(plan, known["address"] or "", known["counters"] or "")


class PlanWatch(Worker):
    """Keeps what is sampled as the graph has it; what was read last stands meanwhile.

    It is read every few seconds, less often where that takes the store long, and at
    once when somebody nudges in the state folder; who names a plan has only that read.
    ``take`` is handed what is wanted of all hosts where that differs from before.
    """

    def __init__(
        self,
        fuseki: str,
        state: Path,
        take: Callable[[Mapping[str, Wanted]], None],
        account: tuple[str, str] | None = None,
    ) -> None:
        super().__init__("plan")
        self.reading = Reading()
        dataset = f"{fuseki.rstrip('/')}/{_DATASET}"
        self._endpoint = Endpoint(dataset, _TIMEOUT, account=account)
        self._plans = Plans(self._endpoint)
        self._last: Mapping[str, Wanted] | None = None
        self._state = state
        self._nudges = Nudges(state)
        self._take = take
        self._stop = Event()

    def stop(self, seconds: float) -> None:
        """End, within ``seconds``."""
        self._stop.set()
        nudge(self._state)
        self._thread.join(seconds)

    def _work(self) -> None:
        changed: Set[Named] = frozenset()
        until = 0.0
        while not self._stop.is_set():
            if changed and time.monotonic() < until:
                took = self._read(changed)
                until = min(until, self._next(took)) if self.reading.reason else until
            else:
                until = self._next(self._read())
            changed = self._nudges.wait(max(until - time.monotonic(), 0.0))
        self._nudges.close()
        self._endpoint.close()

    def _next(self, took: float) -> float:
        """When everything is read again."""
        pause = min(max(took / _BUSY_PART, READ_AGAIN_SECONDS), _LONGEST_PAUSE)
        return time.monotonic() + pause

    def _read(self, changed: Set[Named] = frozenset()) -> float:
        """Read the plans, or those that changed; how many seconds the store took."""
        began = time.monotonic()
        try:
            wanted = self._plans.reread(changed) if changed else self._plans.read()
        except PlanError as error:
            self._stand(str(error))
            return 0.0
        took = time.monotonic() - began
        self.reading = Reading(time.time(), "graph", None)
        if wanted != self._last:
            self._take(wanted)
            self._last = wanted
        return took

    def _stand(self, reason: str) -> None:
        last = self.reading
        if reason != last.reason:
            _LOG.warning("%s", reason)
        self.reading = Reading(last.read_at, last.source, reason)


def save_addresses(path: Path, addresses: Mapping[str, str]) -> None:
    """Keep which hosts are sampled, and where they are; raises OSError."""
    document = {"format": _FORMAT, "hosts": dict(addresses)}
    write_whole(path, json.dumps(document, indent=1))


def load_addresses(path: Path) -> dict[str, str]:
    """What was kept; nothing where there is nothing that can be read."""
    try:
        return _read_addresses(read_json(path))
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        _LOG.warning("%s is no list of hosts (%s): waiting for the graph", path, error)
    return {}


def _read_addresses(document: object) -> dict[str, str]:
    """Raises ValueError for what save_addresses did not write."""
    match document:
        case {"format": str(form), "hosts": dict(hosts)} if form == _FORMAT:
            if all(isinstance(t, str) for pair in hosts.items() for t in pair):
                return hosts
    raise ValueError("not of its form")
