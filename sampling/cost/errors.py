"""The exception tree of the cost of sampling; every message is one line.

CostError
├── CalibrationError   the machine could not be measured
│   └── BusyError      it got busy, and who calibrates wants to disturb nobody
└── ModelError         what was measured before cannot be read
"""


class CostError(Exception):
    """Root of the errors of this folder."""


class CalibrationError(CostError):
    """The machine could not be measured as it should be."""


class BusyError(CalibrationError):
    """The machine got busy while it was measured in the background."""


class ModelError(CostError):
    """A file holds no calibration that can be read."""
