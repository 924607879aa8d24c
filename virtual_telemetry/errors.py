"""Errors of virtual telemetry; every message is one line with the fix.

VirtualTelemetryError
├── ExpressionError         the expression cannot be read, or computes nothing
├── UnknownUnitError        a unit is not among those of the ontology
├── VirtualNameError        it cannot have this name
├── UnknownVirtualError     no virtual telemetry has this name
├── VirtualInUseError       others have it as input, and need it as it is
└── ComputedSamplesError    its samples are computed, so they are not written
UnitMismatchError           in core.stores.errors: units do not convert
VirtualCycleError           in core.stores.errors: it would be an input of itself
"""

from core.errors import UserError


class VirtualTelemetryError(UserError):
    """Root of the errors of virtual telemetry."""


class ExpressionError(VirtualTelemetryError):
    """The expression of virtual telemetry cannot be computed."""

    code = "bad-expression-text"


class UnknownUnitError(VirtualTelemetryError):
    """A unit is not among those of the ontology."""

    code = "unknown-unit"


class VirtualNameError(VirtualTelemetryError):
    """Virtual telemetry cannot have this name."""

    code = "bad-virtual-name"


class UnknownVirtualError(VirtualTelemetryError):
    """No virtual telemetry has this name."""

    code = "unknown-virtual"
    status = 404


class VirtualInUseError(VirtualTelemetryError):
    """Other virtual telemetry has it as an input, and needs it as it is."""

    code = "virtual-in-use"
    status = 409


class ComputedSamplesError(VirtualTelemetryError):
    """Samples of virtual telemetry are computed, not stored."""

    code = "computed-samples"
    status = 405
