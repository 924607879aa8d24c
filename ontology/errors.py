"""The exceptions of this folder.

OntologyError
├── EmptyFolderError         a folder that should hold modules holds none
├── ModuleError              a module that cannot be read
├── ReasonerError            the reasoner cannot run here
└── InconsistentOntologyError   the reasoner found a contradiction
"""


class OntologyError(Exception):
    """Root of everything that the ontology folder raises, but IdError."""


class EmptyFolderError(OntologyError):
    """A folder without a single module: nothing would be described."""


class ModuleError(OntologyError):
    """A module or context that is not the Turtle or JSON it should be."""


class ReasonerError(OntologyError):
    """The reasoner is missing, or failed for another reason than the ontology."""


class InconsistentOntologyError(OntologyError):
    """The ontology contradicts itself, or has classes nothing can belong to."""
