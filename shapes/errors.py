"""The exceptions of this folder.

ShapesError
└── NoShapesError     a folder that should hold shapes holds none
"""


class ShapesError(Exception):
    """Root of all exceptions of the shapes folder."""


class NoShapesError(ShapesError):
    """A folder without shapes: everything would conform."""
