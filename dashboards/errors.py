"""Errors that prevent a dashboard from being drawn.

DashboardError
├── PanelError              the ``panel:`` header of a saved query is wrong
├── UnitError               a unit that cannot be drawn
├── RowError                a row of a saved query that is not a valid series
└── UnknownDashboardError   no saved query names this dashboard

A failure while a dashboard is built is not an error: its panel shows it.
"""

from core.errors import USER_CAN_FIX, SuperTwinError


class DashboardError(SuperTwinError):
    """Root of all errors of this folder; its text is one line with the fix."""

    exit_code = USER_CAN_FIX


class PanelError(DashboardError):
    """A header that does not define a panel."""

    code = "bad-panel"


class UnitError(DashboardError):
    """A unit that cannot be drawn, or two units where only one can be drawn."""

    code = "bad-unit"


class RowError(DashboardError):
    """A row with a value that is invalid in its column."""

    code = "bad-row"


class UnknownDashboardError(DashboardError):
    """No dashboard has this name."""

    code = "unknown-dashboard"
    status = 404
