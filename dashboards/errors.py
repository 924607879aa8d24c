"""What can go wrong before a dashboard can be drawn.

DashboardError
├── PanelError              the ``panel:`` header of a saved query is wrong
├── UnitError               a unit that nobody knows how to draw
├── RowError                a row of a saved query that no series can be made of
├── UnknownDashboardError   no saved query names this dashboard
└── UnknownHostError        the twin knows no host of this name, or none was named

What fails while a dashboard is made is no error: the panel alone says so.
"""


class DashboardError(Exception):
    """Root of all errors of this folder; its text is one line with the cure."""


class PanelError(DashboardError):
    """A header that no panel can be made of."""


class UnitError(DashboardError):
    """A unit without a way to draw it, or two where only one can be drawn."""


class RowError(DashboardError):
    """A row with a value that its column cannot have."""


class UnknownDashboardError(DashboardError):
    """A name that no dashboard has."""


class UnknownHostError(DashboardError):
    """A host that the twin does not know."""
