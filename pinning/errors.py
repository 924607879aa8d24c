"""What can go wrong with a placement; every text is one line.

PinningError
├── PolicyError     a policy, number or format that cannot be read
├── PlaceError      it names a CPU, device or kind of core that the host lacks
└── LimitError      the host has fewer than what is asked for
"""


class PinningError(Exception):
    """Root of all errors of this folder."""


class PolicyError(PinningError):
    """A policy that cannot be read."""


class PlaceError(PinningError):
    """A policy that names what the host does not have."""


class LimitError(PinningError):
    """What cannot be met; the text names the limit and what was asked."""
