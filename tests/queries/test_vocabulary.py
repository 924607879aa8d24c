"""Every term that a saved query names is one that the ontology knows."""

import re

import pytest

from ontology.load import ontology_graph
from ontology.terms import ST
from queries.catalogue import load_catalogue


@pytest.mark.parametrize("name", load_catalogue())
def test_every_term_of_ours_is_in_the_ontology(name):
    known = set(ontology_graph().subjects())
    text = load_catalogue()[name].text
    used = set(re.findall(r"\bst:(\w+)", text))
    assert [term for term in sorted(used) if ST[term] not in known] == []
