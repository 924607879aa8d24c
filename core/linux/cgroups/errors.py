"""The error for invalid requests about control groups."""

from core.errors import SuperTwinError


class CgroupError(SuperTwinError):
    """The only error of this folder; its text names the thing and the fix."""

    code = "bad-cgroup-list"
