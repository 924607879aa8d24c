"""Errors of a placement; every text is one line.

PinningError
├── PolicyError     a policy, number or format that cannot be parsed
├── PlaceError      it names a CPU, device or kind of core that the host lacks
└── LimitError      the host has less than requested
"""

from core.errors import SuperTwinError


class PinningError(SuperTwinError):
    """Root of all errors of this folder."""


class PolicyError(PinningError):
    """A policy that cannot be parsed."""


class PlaceError(PinningError):
    """A policy that names something the host does not have."""


class LimitError(PinningError):
    """A request that cannot be met; the text names the limit and the request."""
