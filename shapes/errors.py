"""The exceptions of this folder.

ShapesError
└── NoShapesError     a folder that should hold shapes holds none
"""

from core.errors import SuperTwinError


class ShapesError(SuperTwinError):
    """Root of all exceptions of the shapes folder."""


class NoShapesError(ShapesError):
    """A folder without shapes: everything would conform."""

    code = "no-shapes"
