"""The error for invalid requests about control groups."""


class CgroupError(Exception):
    """The only error of this folder; its text names the thing and the cure."""
