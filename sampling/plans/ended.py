"""Plans that end with a control group: of groups that are gone, or of their jobs."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import NamedTuple

from core.linux.cgroups.ledger import Life
from core.linux.cgroups.schedulers import parse_job

_QUERIES = "cgroups/"


class PlanOf(NamedTuple):
    """One instance of a plan; ``of_groups`` says whether it is one of control groups.

    ``query`` and ``given``, a JSON object, say where its instances come from, if so.
    """

    plan: str
    of_groups: bool
    instance: str
    query: str | None = None
    given: str | None = None


def over_plans(rows: Iterable[PlanOf], lives: Collection[Life]) -> list[str]:
    """The plans of which every group, or the job that was asked for, has ended.

    What was never seen may come yet: a plan of it stays.
    """
    by_plan: dict[str, list[PlanOf]] = defaultdict(list)
    for row in rows:
        by_plan[row.plan].append(row)
    running = [life for life in lives if life.ended is None]
    gone = {life.path for life in lives} - {life.path for life in running}
    jobs = _jobs(lives) - _jobs(running)
    return sorted(
        plan
        for plan, own in by_plan.items()
        if _job(own[0]) in jobs
        or all(row.of_groups and row.instance in gone for row in own)
    )


def _jobs(lives: Iterable[Life]) -> set[str]:
    return {job for life in lives if (job := parse_job(life.path).job)}


def _job(row: PlanOf) -> str | None:
    """The job that a saved query about control groups was asked for."""
    if not (row.query or "").startswith(_QUERIES) or not row.given:
        return None
    try:
        given = json.loads(row.given)
    except ValueError:
        return None
    return str(given.get("job")) if isinstance(given, dict) else None
