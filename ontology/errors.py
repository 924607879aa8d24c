"""The exceptions of this folder.

OntologyError
├── EmptyFolderError         a folder that should hold modules holds none
└── ModuleError              a module that cannot be read
"""


class OntologyError(Exception):
    """Root of everything that the ontology folder raises, but IdError."""


class EmptyFolderError(OntologyError):
    """A folder without a single module: nothing would be described."""


class ModuleError(OntologyError):
    """A module or context that is not the Turtle or JSON it should be."""
