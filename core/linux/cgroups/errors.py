"""The error for invalid requests about control groups."""

from core.errors import SuperTwinError


class CgroupError(SuperTwinError):
    """A pattern of cgroups, or the list of cgroups, cannot be read."""

    code = "bad-cgroup-list"
