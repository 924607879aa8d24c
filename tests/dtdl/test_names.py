import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdflib import URIRef

from dtdl.errors import DtmiError
from dtdl.names import (
    MAX_ID,
    MAX_INTERFACE_ID,
    Names,
    decode_segment,
    encode_segment,
    from_dtmi,
    page_dtmi,
    to_dtmi,
)

BASE = "http://twin.example:8000"
# The standard's rule for segments and names.
ALLOWED = re.compile(r"[A-Za-z](?:[A-Za-z0-9_]*[A-Za-z0-9])?", re.ASCII)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
# Texts close to the escape of the first letter.
NEAR = st.text("h0_é-x5F", max_size=6)


@given(TEXTS | NEAR)
def test_segment_round_trips(text: str) -> None:
    segment = encode_segment(text)
    assert ALLOWED.fullmatch(segment)
    assert decode_segment(segment) == text


@given(NEAR, NEAR)
def test_different_texts_give_different_segments(one: str, other: str) -> None:
    assert (encode_segment(one) == encode_segment(other)) == (one == other)


@given(st.text("h0_x5FaA", max_size=8))
def test_segment_decodes_to_at_most_one_text(segment: str) -> None:
    try:
        text = decode_segment(segment)
    except DtmiError:
        return
    assert encode_segment(text) == segment


@pytest.mark.parametrize(
    ("text", "segment"),
    [
        ("node17", "node17"),
        ("n-1", "n_x2D1"),
        ("a_b", "a_x5Fb"),
        ("0", "h0"),
        ("h0", "hh0"),
        ("hpc1", "hpc1"),
        ("", "h"),
        ("h", "hh"),
        ("ü", "h_xC3_xBC"),
    ],
)
def test_segments_match_the_documentation(text: str, segment: str) -> None:
    assert encode_segment(text) == segment


def test_text_that_is_not_unicode_has_no_segment() -> None:
    with pytest.raises(DtmiError, match="not Unicode"):
        encode_segment("\ud800")


PLAIN = st.characters(
    exclude_categories=["Cs", "Cc", "Z"], exclude_characters='<>"{}|\\^`/'
)
PARTS = st.text(PLAIN, max_size=40)


@given(st.lists(PARTS, min_size=1, max_size=5).map("/".join))
def test_iri_round_trips_through_its_dtmi(path: str) -> None:
    iri = f"{BASE}/{path}"
    dtmi = to_dtmi(iri, BASE)
    assert len(dtmi) <= MAX_INTERFACE_ID
    assert from_dtmi(dtmi, BASE) in (None, URIRef(iri))
    assert from_dtmi(to_dtmi(iri, BASE, 10**6), BASE) == URIRef(iri)


def test_long_iris_have_different_dtmis() -> None:
    iris = [f"{BASE}/twin/n1/disk/{'x' * 200}{n}" for n in range(100)]
    dtmis = {to_dtmi(iri, BASE) for iri in iris}
    assert len(dtmis) == 100
    assert all(len(dtmi) <= MAX_INTERFACE_ID for dtmi in dtmis)
    assert len({to_dtmi(iri, BASE, MAX_ID) for iri in iris}) == 100


def test_foreign_iri_has_its_own_dtmi() -> None:
    dtmi = to_dtmi("urn:x:y", BASE)
    assert from_dtmi(dtmi, BASE) == URIRef("urn:x:y")
    assert dtmi != to_dtmi(f"{BASE}/urn:x:y", BASE)


@pytest.mark.parametrize(
    "dtmi",
    [
        "dtmi:com:example:thing;1",
        "dtmi:supertwin:twin:n1;2",
        "dtmi:supertwin:twin:_n1;1",
        "dtmi:supertwin:twin:n_x2d1;1",
        "dtmi:supertwin:twin:n_x3E_x20_x2E;1",
        "dtmi:supertwin:twin:n_xFF;1",
        "dtmi:supertwin:;1",
        "",
        "n1",
    ],
)
def test_foreign_dtmi_is_refused(dtmi: str) -> None:
    with pytest.raises(DtmiError):
        from_dtmi(dtmi, BASE)


def test_dtmi_of_a_page_is_within_the_limit() -> None:
    for iri in (f"{BASE}/twin/n1", f"{BASE}/twin/{'n' * 95}"):
        pages = [page_dtmi(to_dtmi(iri, BASE), n) for n in range(300)]
        assert len(set(pages)) == 300
        assert all(len(page) <= MAX_INTERFACE_ID for page in pages)


@given(st.lists(TEXTS | st.text("ab_", max_size=80), max_size=20))
def test_names_are_valid_and_unique(wanted: list[str]) -> None:
    names = Names(64)
    given_ = [names.give(text) for text in wanted]
    assert len(set(given_)) == len(given_)
    assert all(ALLOWED.fullmatch(name) and len(name) <= 64 for name in given_)
