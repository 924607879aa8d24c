"""Every term in a saved query is in the ontology."""

import re

from ontology.load import ontology_graph
from ontology.terms import ST
from queries.catalogue import load_catalogue


def test_every_own_term_is_in_the_ontology():
    known = set(ontology_graph().subjects())
    assert not [
        (name, term)
        for name, query in load_catalogue().items()
        for term in re.findall(r"\bst:(\w+)", query.text)
        if ST[term] not in known
    ]
