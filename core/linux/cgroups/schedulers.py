"""Jobs, steps and users in the group names that batch schedulers use.

Slurm: ``…/uid_1000/job_123/step_0`` (version 1) and ``…/slurmstepd.scope/job_123/…``
(version 2, without a user), see its src/plugins/cgroup. OAR: ``/oar/alice_123``.
"""

import re
from typing import NamedTuple

_SLURM = re.compile(
    r"(?:/uid_(?P<uid>[0-9]{1,10}))?/job_(?P<job>[0-9]{1,20})"
    r"(?:/step_(?P<step>[A-Za-z0-9_.+-]{1,64}))?(?=/|$)"
)
_OAR = re.compile(r"/oar/(?P<user>[^/]{1,64})_(?P<job>[0-9]{1,20})(?=/|$)")


class SchedulerJob(NamedTuple):
    """The parts that a path names; None for any other."""

    job: str | None = None
    step: str | None = None
    uid: int | None = None
    user: str | None = None


def parse_job(path: str) -> SchedulerJob:
    """Return the job that a group belongs to, from its path below the mount."""
    if found := _SLURM.search(path):
        uid = None if found["uid"] is None else int(found["uid"])
        return SchedulerJob(found["job"], found["step"], uid)
    if found := _OAR.match(path):
        return SchedulerJob(found["job"], user=found["user"])
    return SchedulerJob()
