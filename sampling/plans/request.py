"""A request for a plan, and the checks that need no graph."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation

from ingest.describe.plan import MONITOR
from ingest.errors import PlanRequestError

SHORTEST_MS, LONGEST_MS = 1, 3_600_000
_UNITS_MS = {"ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000}
_PERIOD = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*(ms|s|min|h)")
# No dot: it separates plan and metric in the IRI of a plan's node.
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_CONTROL = re.compile("[\x00-\x1f\x7f\ufffd\ufffe\uffff\ud800-\udfff]")


@dataclass(frozen=True)
class PlanRequest:
    """Metrics, roles and PMU events of a host at one period, under one name.

    It covers all their instances, or those of the components that a saved query gives,
    or those that are named. With `multiplex`, events may take turns on a PMU that has
    fewer counters.
    """

    host: str
    name: str
    metrics: tuple[str, ...]
    period_ms: int
    query: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    instances: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    multiplex: bool = False


def parse_period(text: str) -> int:
    """A period such as ``10ms``, ``0.5s``, ``5min`` or ``1h``, in ms.

    Raises PlanRequestError.
    """
    found = _PERIOD.fullmatch(text.strip())
    try:
        period = Decimal(found[1]) * _UNITS_MS[found[2]] if found else None
    except InvalidOperation:
        period = None
    if period is None:
        raise PlanRequestError(
            f"a period of {text[:40]!r} cannot be read: write 10ms, 0.5s, 5min or 1h"
        )
    if not SHORTEST_MS <= period <= LONGEST_MS or period != int(period):
        raise PlanRequestError(
            f"a period of {text[:40]} is not possible: give whole milliseconds, 1ms to "
            "1h"
        )
    return int(period)


def check_request(request: PlanRequest) -> None:
    """Raise PlanRequestError for a request that is impossible on any host."""
    check_plan_name(request.name)
    counts = request.roles or request.events
    if not (request.metrics or counts):
        raise PlanRequestError(
            f"plan {request.name} has no metric, role or event: name one"
        )
    if request.multiplex and not counts:
        raise PlanRequestError(
            f"plan {request.name} has no role or event, and only their counters can "
            "be shared: leave --multiplex out"
        )
    if not SHORTEST_MS <= request.period_ms <= LONGEST_MS:
        raise PlanRequestError(
            f"a period of {request.period_ms} ms is not possible: give 1 ms to 1 h"
        )
    if request.query and request.instances:
        raise PlanRequestError(
            "instances are either named or given by a query: leave one out"
        )
    if request.parameters and not request.query:
        raise PlanRequestError(
            f"parameter {next(iter(request.parameters))} has no query: name the query "
            "that it belongs to"
        )
    for instance in request.instances:
        check_instance(instance)


def check_plan_name(name: str) -> None:
    """Raise PlanRequestError for a name that an added plan cannot have."""
    if not _NAME.fullmatch(name):
        raise PlanRequestError(
            f"{name[:80]!r} is not a valid plan name: use 1 to 64 letters, digits, "
            "_ and -"
        )
    if name == MONITOR:
        raise PlanRequestError(
            f"{MONITOR} is the plan that comes with every host: choose another name"
        )


def check_instance(name: str) -> None:
    """Raise PlanRequestError for a name that an instance in a plan cannot have."""
    if not name:
        raise PlanRequestError("an instance has no name: leave it out, or name it")
    if _CONTROL.search(name):
        raise PlanRequestError(
            f"instance {name[:80]!r} contains a line break or another character that "
            "no plan can name: sample all instances of the metric"
        )
