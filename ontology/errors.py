"""The exceptions of this folder.

OntologyError
├── NoModulesError         a folder that should hold modules holds none
└── ModuleError              a module that cannot be read
"""


class OntologyError(Exception):
    """Root of all exceptions of the ontology folder except IdError."""


class NoModulesError(OntologyError):
    """A folder without modules: nothing would be described."""


class ModuleError(OntologyError):
    """A module or context that is not valid Turtle or JSON."""
