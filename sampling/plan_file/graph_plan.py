"""Reads the plans and addresses of hosts from the graph."""

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import itemgetter
from typing import Any

from core.stores.endpoint import Endpoint
from core.stores.errors import QueriesError
from core.stores.results import read_table
from core.stores.sparql_dataset import JSON_RESULTS
from queries.catalogue import saved_query
from queries.run import saved_rows
from sampling.agents.known import agent_of
from sampling.errors import PlanError
from sampling.events.event import is_counter
from sampling.plan_file.notify import PlanName
from sampling.plan_file.plan import SamplingPlan, make_plan

_PLANS, _HOSTS = "telemetry/sampling", "telemetry/sampled-hosts"
_ONE_PLAN, _AGENTS = "telemetry/one-plan", "telemetry/agent-sockets"

Row = dict[str, Any]


@dataclass(frozen=True)
class WantedPlan:
    """What the graph has for one host: its plan, and its address.

    ``counters`` is the socket, on the host, of the PMCD that counts PMU events;
    ``agents`` are those of the PMCDs of agents that run on demand, by agent.
    """

    plan: SamplingPlan = field(default_factory=SamplingPlan)
    address: str = ""
    counters: str = ""
    agents: Mapping[str, str] = field(default_factory=dict)


def read_plan(endpoint: Endpoint, host: str) -> SamplingPlan:
    """What the graph plans for a host; raises PlanError."""
    try:
        answer = endpoint.select(saved_query(_PLANS).bind({"host": host}))
    except QueriesError as error:
        raise PlanError(f"the plan of {host} cannot be read: {error}") from error
    return make_plan(answer.records())


class Plans:
    """The plans of all hosts behind an endpoint.

    They are read again only if the graph has another version, and parsed again only if
    an answer has changed.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._answers: dict[str, tuple[bytes, list[Row]]] = {}
        self._made: dict[str, tuple[list[Row], SamplingPlan]] = {}
        self._wanted: dict[str, WantedPlan] = {}
        self._read: tuple[list[Row], list[Row]] | None = None  # what it was made from
        self._version = ""  # of the graph that was read; empty if unknown

    def reread(self, changed: Set[PlanName]) -> dict[str, WantedPlan]:
        """The same, if only these plans have changed; raises PlanError.

        Reads only these plans if that is enough: everything else about a host is then
        unchanged.
        """
        for named in changed:
            if not self._reread(named):
                return self.read()
        return self._wanted

    def read(self) -> dict[str, WantedPlan]:
        """What is wanted of each host that has a plan; raises PlanError."""
        try:
            version = self._endpoint.version()
            if version and version == self._version:
                return self._wanted
            listed, rows = self._rows(_HOSTS), self._rows(_PLANS)
        except QueriesError as error:
            raise PlanError(f"the plans cannot be read: {error}") from error
        if not (self._read and self._read[0] is listed and self._read[1] is rows):
            self._make(listed, rows)
        self._version = version
        return self._wanted

    def _make(self, listed: list[Row], rows: list[Row]) -> None:
        hosts = {row["host"]: row for row in listed}
        agents = self._agents(rows)
        by_host = groupby(rows, itemgetter("host"))
        plans = {host: self._plan(host, list(of)) for host, of in by_host}
        self._made = {host: self._made[host] for host in plans}
        self._wanted = {
            host: _wanted(plan, hosts.get(host), agents.get(host, {}))
            for host, plan in plans.items()
        }
        self._read = listed, rows

    def _reread(self, named: PlanName) -> bool:
        """Read one plan of a host again; False if more can have changed there.

        The first plan of a host brings an address, and the last removes it; the first
        counter brings a PMCD.
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
        changed = [row["samplerName"] for row in (*old, *new)]
        if not rows or any(is_counter(name) or agent_of(name) for name in changed):
            return False
        rows.sort(key=itemgetter("plan"))
        plan = self._plan(named.host, rows)
        self._read = None
        known = replace(self._wanted[named.host], plan=plan)
        self._wanted = {**self._wanted, named.host: known}
        return True

    def _agents(self, rows: list[Row]) -> dict[str, dict[str, str]]:
        """The sockets of agents by host; read only if a plan has such a metric."""
        found: dict[str, dict[str, str]] = {}
        if any(agent_of(row["samplerName"]) for row in rows):
            try:
                for host, agent, socket in self._sockets():
                    found.setdefault(host, {})[agent] = socket
            except QueriesError as error:
                raise PlanError(f"the plans cannot be read: {error}") from error
        return found

    def _sockets(self) -> Iterator[tuple[str, str, str]]:
        for row in self._rows(_AGENTS):
            yield row["host"], row["agent"], row["socket"]

    def _rows(self, name: str) -> list[Row]:
        """The rows of a saved query, parsed again only if its answer has changed."""
        body = self._endpoint.answer(saved_query(name).bind({}), JSON_RESULTS)
        known = self._answers.get(name)
        if known is None or known[0] != body:
            known = self._answers[name] = (body, read_table(body).records())
        return known[1]

    def _plan(self, host: str, rows: list[Row]) -> SamplingPlan:
        made = self._made.get(host)
        if made is None or made[0] != rows:
            made = self._made[host] = (rows, make_plan(rows))
        return made[1]


def _wanted(
    plan: SamplingPlan, row: Row | None, agents: Mapping[str, str]
) -> WantedPlan:
    known = row or {"address": None, "counters": None}
    return WantedPlan(plan, known["address"] or "", known["counters"] or "", agents)
