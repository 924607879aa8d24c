"""What can go wrong with the stack, as a person at the command line sees it.

SuperTwinError      exit 1: a failure
├─ StartError       a child that does not come up, with its last words
└─ MendableError    exit 2: something the user can mend; the message says how
"""


class SuperTwinError(Exception):
    """A failure; its text is one line that names the thing and the cure."""

    exit_code = 1


class StartError(SuperTwinError):
    """A part of the stack does not come up."""


class MendableError(SuperTwinError):
    """Something the user can mend."""

    exit_code = 2
