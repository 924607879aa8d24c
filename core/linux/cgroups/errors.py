"""What can be wrong with what is asked of control groups."""


class CgroupError(Exception):
    """The one kind that there is; its text names the thing and the cure."""
