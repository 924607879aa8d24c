"""The exceptions of the cost of sampling; every message is one line.

CostError
├── CalibrationError   the machine could not be measured
│   └── BusyError      it got busy while it was measured in the background
├── ModelError         a saved calibration cannot be read
└── CostlyPlanError    a plan costs more than may be added without consent
"""

from core.errors import USER_CAN_FIX, SuperTwinError


class CostError(SuperTwinError):
    """Root of the errors of this folder."""


class CalibrationError(CostError):
    """The machine could not be measured as required."""

    code = "calibration-failed"


class BusyError(CalibrationError):
    """The machine got busy while it was measured in the background."""

    code = "machine-busy"


class ModelError(CostError):
    """A file is not a readable calibration."""

    code = "bad-cost-model"
    exit_code = USER_CAN_FIX
    status = 400


class CostlyPlanError(CostError):
    """The plan costs more than may be added without consent."""

    code = "plan-too-costly"
    exit_code = USER_CAN_FIX
    status = 400
