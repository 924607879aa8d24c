"""Errors of observations; each text names the thing and the cure."""


class ObservationError(Exception):
    """Root of the errors of this folder."""


class TakenError(ObservationError):
    """CPUs that another observation holds."""


class LaunchError(ObservationError):
    """A command that could not be started, or whose host went away."""


class NotCountedError(ObservationError):
    """An event of a run that does not tell what a figure needs."""


class BenchmarkError(ObservationError):
    """A benchmark that does not say what it did."""


class SaidError(ObservationError):
    """A line that no runner says."""


class CrateError(ObservationError):
    """A crate that cannot be written, or read, as it is."""
