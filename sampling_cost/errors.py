"""The exception tree of the cost of sampling; every message is one line.

CostError
├── CalibrationError   the machine could not be measured
└── ModelError         what was measured before cannot be read
"""


class CostError(Exception):
    """Root of the errors of this folder."""


class CalibrationError(CostError):
    """The machine could not be measured as it should be."""


class ModelError(CostError):
    """A file holds no calibration that can be read."""
