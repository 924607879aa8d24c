"""The plan of a host as the graph has it, read again and again."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Literal

from queries.catalogue import saved_query
from queries.endpoint import Endpoint
from queries.errors import QueriesError
from sampler_bridge.errors import PlanError
from sampler_bridge.nudge import Nudges, nudge
from sampler_bridge.plan import Plan, load_plan, make_plan, save_plan
from sampler_bridge.worker import Worker

_LOG = logging.getLogger(__name__)

_QUERY = "telemetry/sampling"
_DATASET = "twin"
_TIMEOUT = 10.0
READ_AGAIN_SECONDS = 3.0


def read_plan(endpoint: Endpoint, host: str) -> Plan:
    """What the graph plans for a host; raises PlanError."""
    try:
        answer = endpoint.select(saved_query(_QUERY).bind({"host": host}))
    except QueriesError as error:
        raise PlanError(f"the plan of {host} cannot be read: {error}") from error
    return make_plan(
        dict(zip(answer.columns, row, strict=True)) for row in answer.values()
    )


@dataclass(frozen=True)
class Reading:
    """A plan, when it was read (Unix seconds), from where, and why not again since."""

    plan: Plan
    read_at: float | None = None
    source: Literal["graph", "cache"] = "cache"
    reason: str | None = None


class PlanWatch(Worker):
    """Keeps ``reading`` as the graph has it; the last plan stands while it is away.

    It is read every few seconds, and at once when somebody nudges.

    ``take`` is handed every plan that differs from the one before, the first one
    being what was kept at ``cache`` for a start without the graph.
    """

    def __init__(
        self,
        fuseki: str,
        host: str,
        cache: Path,
        take: Callable[[Plan], None],
        account: tuple[str, str] | None = None,
    ) -> None:
        super().__init__("plan")
        kept = load_plan(cache)
        self.reading = Reading(kept or Plan(), reason="the graph was not reached yet")
        dataset = f"{fuseki.rstrip('/')}/{_DATASET}"
        self._endpoint = Endpoint(dataset, _TIMEOUT, account=account)
        self._host = host
        self._cache = cache
        self._nudges = Nudges(cache.parent)
        self._take = take
        self._stop = Event()

    def stop(self, seconds: float) -> None:
        """End, within ``seconds``."""
        self._stop.set()
        nudge(self._cache.parent)
        self._thread.join(seconds)

    def _work(self) -> None:
        self._take(self.reading.plan)
        while not self._stop.is_set():
            self._read()
            self._nudges.wait(READ_AGAIN_SECONDS)
        self._nudges.close()
        self._endpoint.close()

    def _read(self) -> None:
        last = self.reading
        try:
            plan = read_plan(self._endpoint, self._host)
        except PlanError as error:
            self._stand(last, str(error))
            return
        self.reading = Reading(plan, time.time(), "graph")
        if plan != last.plan:
            self._take(plan)
            self._keep(plan)

    def _stand(self, last: Reading, reason: str) -> None:
        if reason != last.reason:
            _LOG.warning("%s", reason)
        self.reading = Reading(last.plan, last.read_at, last.source, reason)

    def _keep(self, plan: Plan) -> None:
        _LOG.info("the graph plans %d metrics of %s", len(plan.names), self._host)
        try:
            save_plan(self._cache, plan)
        except OSError as error:
            _LOG.warning("%s cannot be written: %s", self._cache, error.strerror)
