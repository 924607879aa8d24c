"""Errors of observations; each message names the object and the fix."""

from core.errors import USER_CAN_FIX, SuperTwinError


class ObservationError(SuperTwinError):
    """Root of the errors of this package."""

    code = "observation-failed"


class CpusTakenError(ObservationError):
    """Another observation holds the CPUs."""

    code = "cpus-taken"
    exit_code = USER_CAN_FIX
    status = 409


class LaunchError(ObservationError):
    """A command could not be started, or contact with its runner was lost."""

    code = "launch-failed"
    exit_code = USER_CAN_FIX


class NotCountedError(ObservationError):
    """A run does not have the counts of an event that a figure needs."""

    code = "not-counted"


class BenchmarkError(ObservationError):
    """A benchmark did not print what it executed."""

    code = "benchmark-failed"


class RunnerEventError(ObservationError):
    """A line is not a valid event of a runner."""

    code = "bad-event"


class CrateError(ObservationError):
    """A crate cannot be written or read."""

    code = "bad-crate"
    exit_code = USER_CAN_FIX
