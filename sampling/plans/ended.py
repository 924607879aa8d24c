"""Plans that end when their control groups, or their job, have ended."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import NamedTuple

from core.linux.cgroups.ledger import CgroupLife
from core.linux.cgroups.schedulers import parse_job

_QUERIES = "cgroups/"


class PlanOf(NamedTuple):
    """One instance of a plan; ``of_groups`` says whether it is a control group.

    ``query`` is the saved query that gives the instances, if any; ``given`` are its
    parameters, a JSON object.
    """

    plan: str
    of_groups: bool
    instance: str
    query: str | None = None
    given: str | None = None


def ended_plans(rows: Iterable[PlanOf], lives: Collection[CgroupLife]) -> list[str]:
    """The plans for groups that have all ended, or for a job that has ended.

    A group or job that was never seen may still come, so its plan stays.
    """
    by_plan: dict[str, list[PlanOf]] = defaultdict(list)
    for row in rows:
        by_plan[row.plan].append(row)
    running = [life for life in lives if life.ended is None]
    ended = {life.path for life in lives} - {life.path for life in running}
    jobs = _jobs(lives) - _jobs(running)
    return sorted(
        plan
        for plan, own in by_plan.items()
        if _job(own[0]) in jobs
        or all(row.of_groups and row.instance in ended for row in own)
    )


def _jobs(lives: Iterable[CgroupLife]) -> set[str]:
    return {job for life in lives if (job := parse_job(life.path).job)}


def _job(row: PlanOf) -> str | None:
    """The job that is the parameter of a saved query about control groups."""
    if not (row.query or "").startswith(_QUERIES) or not row.given:
        return None
    try:
        given = json.loads(row.given)
    except ValueError:
        return None
    return str(given.get("job")) if isinstance(given, dict) else None
