"""OWL modules, JSON-LD context, IRI minting and the constants of the vocabulary."""
