"""The exceptions of this folder.

ShapesError
└── EmptyFolderError     a folder that should hold shapes holds none
"""


class ShapesError(Exception):
    """Root of all exceptions of the shapes folder."""


class EmptyFolderError(ShapesError):
    """A folder without shapes: everything would conform."""
