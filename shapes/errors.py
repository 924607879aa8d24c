"""The exceptions of this folder.

ShapesError
└── EmptyFolderError     a folder that should hold shapes holds none
"""


class ShapesError(Exception):
    """Root of everything that the shapes folder raises."""


class EmptyFolderError(ShapesError):
    """A folder without a single shape: everything would conform."""
