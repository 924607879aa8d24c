"""Errors of a placement; every text is one line.

PinningError
├── PolicyError     a policy, number or format that cannot be parsed
├── PlaceError      a policy that names a CPU, device or core type the host lacks
└── LimitError      a request for more than the host has
"""

from core.errors import USER_CAN_FIX, SuperTwinError


class PinningError(SuperTwinError):
    """Root of all errors of this folder."""

    exit_code = USER_CAN_FIX


class PolicyError(PinningError):
    """A policy that cannot be parsed."""

    code = "bad-policy"
    status = 400


class PlaceError(PinningError):
    """A policy that names something the host does not have."""

    code = "no-such-place"
    status = 422


class LimitError(PinningError):
    """A request that cannot be met; the text names the limit and the request."""

    code = "cannot-be-met"
    status = 409
