"""Errors of observations; each message names the object and the fix."""

from core.errors import USER_CAN_FIX, SuperTwinError, UserError


class ObservationError(SuperTwinError):
    """Root of the errors of this package, except those that the user can fix."""


class CpusTakenError(ObservationError):
    """Another observation holds the CPUs."""

    code = "cpus-taken"
    exit_code = USER_CAN_FIX
    status = 409


class LaunchError(ObservationError):
    """A command could not be started."""

    code = "launch-failed"
    exit_code = USER_CAN_FIX


class RunLostError(LaunchError):
    """Contact with the runner of a run was lost."""

    code = "run-lost"


class RunInterruptedError(ObservationError):
    """SuperTwin was stopped or killed during a run."""

    code = "run-interrupted"


class CpusSharedError(ObservationError):
    """Another run uses the same CPUs, so the measurements influence each other."""

    code = "cpus-shared"


class NotCountedError(ObservationError):
    """A run does not have the counts of an event that a figure needs."""

    code = "not-counted"


class UnknownFigureError(UserError):
    """The processor of a host has no figure of this name."""

    code = "unknown-figure"
    status = 400


class BadGroupError(UserError):
    """A file is not a valid group of events."""

    code = "bad-event-group"


class RefusedGroupError(UserError):
    """No metric of a group of events can be derived on the processor."""

    code = "event-group-refused"


class UnknownGroupError(UserError):
    """No group of events has this name."""

    code = "no-such-event-group"
    status = 404


class NotImportedError(ObservationError):
    """A metric of a group of events cannot be derived on the processor."""

    code = "metric-not-imported"


class BenchmarkError(ObservationError):
    """A benchmark did not print what it executed."""

    code = "benchmark-failed"


class RunnerEventError(ObservationError):
    """A line is not a valid event of a runner."""

    code = "bad-event"


class NotRecordedError(ObservationError):
    """A run could not be recorded."""

    code = "run-not-recorded"


class CrateError(ObservationError):
    """A crate cannot be written or read."""

    code = "bad-crate"
    exit_code = USER_CAN_FIX


class UnknownRunError(UserError):
    """No run or group has this id."""

    code = "no-such-observation"
    status = 404


class RunActiveError(UserError):
    """The run has not ended."""

    code = "run-active"


class RunInBaselineError(UserError):
    """The run belongs to a baseline."""

    code = "run-in-baseline"


class UnknownBaselineError(UserError):
    """No baseline has this name."""

    code = "unknown-baseline"


class BaselineNameError(UserError):
    """Not a valid name of a baseline."""

    code = "bad-baseline-name"


class NotComparableError(UserError):
    """The runs cannot be judged by a baseline, or be one."""

    code = "not-comparable"


class NotMeasuredError(UserError):
    """None of the runs measured this metric."""

    code = "not-measured"
    status = 404


class PassFailedError(UserError):
    """A pass of a run did not complete, so the passes after it were not run."""

    code = "pass-failed"


class SampleFileError(UserError):
    """A file with samples cannot be imported; nothing was."""

    code = "bad-sample-file"


class SampleOrderError(SampleFileError):
    """The times of samples are not in order, or one is there twice."""

    code = "samples-out-of-order"


class SampleUnitError(SampleFileError):
    """Samples are in another unit than their metric."""

    code = "wrong-unit"


class SampleExistsError(UserError):
    """A series has another value at the time of a sample."""

    code = "sample-exists"
    status = 409


class NoSeriesError(UserError):
    """No runs with parallel efficiencies have this tag."""

    code = "no-scaling-runs"
    status = 404


class NoModelRunsError(UserError):
    """No runs have this tag."""

    code = "no-tagged-runs"
    status = 404


class TooFewRunsError(UserError):
    """There are too few runs to fit and validate a model."""

    code = "too-few-runs"


class ModelInputError(UserError):
    """An input of a model is unknown, missing or not positive."""

    code = "bad-model-input"


class TextMetricError(UserError):
    """The values of the metric are texts, and only numbers can be imported."""

    code = "text-metric"


class BadLogError(UserError):
    """A log of the I/O of a run cannot be read; nothing was imported."""

    code = "bad-io-log"


class OtherRunLogError(UserError):
    """A log is of a program that ran at another time."""

    code = "log-of-another-run"


class NoDarshanError(UserError):
    """PyDarshan, which reads logs of Darshan, is not installed."""

    code = "no-darshan"
