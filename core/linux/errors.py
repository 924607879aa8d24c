"""The errors of what the kernel of this machine refuses."""

from core.errors import SuperTwinError


class TaskstatsError(SuperTwinError):
    """The kernel does not report tasks that end."""

    code = "taskstats-refused"
