"""Content negotiation by Accept."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.formats import answer_type
from api.lexer import ResultForm
from api.negotiation import choose, negotiate
from api.problems import NotAcceptableError

OFFERS = ("application/ld+json", "text/turtle", "text/html")
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        ([], "application/ld+json"),
        ([""], "application/ld+json"),
        ([" , ,"], "application/ld+json"),
        (["*/*"], "application/ld+json"),
        (["*"], "application/ld+json"),
        (["text/html, image/gif, *; q=.2, */*; q=.2"], "text/html"),
        (["text/*"], "text/turtle"),
        (["TEXT/Turtle"], "text/turtle"),
        (["text/turtle;charset=utf-8"], "text/turtle"),
        (["text/turtle;q=0.5, text/html"], "text/html"),
        (["text/turtle;q=0.5", "text/html;q=0.4"], "text/turtle"),
        (["*/*;q=0.1, text/html;q=0"], "application/ld+json"),
        (["*/*, application/ld+json;q=0.2"], "text/turtle"),
        (["text/*;q=0.9, text/turtle;q=0.1"], "text/html"),
        (['application/ld+json;profile="a,b;q=0", text/html;q=0.9'], OFFERS[0]),
        (["nonsense, text/html"], "text/html"),
        (["text/turtle;q=2, text/html;q=0.1"], "text/html"),
        ([BROWSER], "text/html"),
        (["application/json"], None),
        (["*/*;q=0"], None),
        (["text/turtle;q=0.000"], None),
        (["gibberish"], None),
        (['text/turtle;a="b, text/html'], "text/turtle"),
        (['text/turtle;a="\\'], "text/turtle"),
    ],
)
def test_best_offer_is_chosen(accept: list[str], chosen: str | None) -> None:
    assert choose(accept, OFFERS) == chosen


@pytest.mark.parametrize("hostile", ['\\"', '"', 'a;"', ",", ";", 'a/b;c="d"', "a,"])
def test_hostile_header_is_read_quickly(hostile: str) -> None:
    start = time.process_time()
    choose([hostile * 20_000], OFFERS)
    assert time.process_time() - start < 2


@given(st.text(max_size=80))
def test_any_header_gives_an_offer_or_none(header: str) -> None:
    assert choose([header], OFFERS) in (*OFFERS, None)


@given(
    st.permutations(OFFERS),
    st.lists(st.integers(0, 1000), min_size=3, max_size=3, unique=True),
)
def test_highest_quality_wins(order: list[str], thousandths: list[int]) -> None:
    header = ",".join(
        f"{offer};q={n / 1000:.3f}" for offer, n in zip(order, thousandths, strict=True)
    )
    best = order[thousandths.index(max(thousandths))]
    assert choose([header], OFFERS) == best


def test_unacceptable_type_lists_the_offers() -> None:
    with pytest.raises(NotAcceptableError) as refused:
        negotiate(["image/png"], OFFERS, "This is RDF")
    assert refused.value.status == 406
    assert "image/png" in refused.value.detail and "text/turtle" in refused.value.detail


@pytest.mark.parametrize(
    ("form", "accept"),
    [
        (ResultForm.SELECT, "text/turtle"),
        (ResultForm.ASK, "application/ld+json"),
        (ResultForm.CONSTRUCT, "text/csv"),
        (ResultForm.QUADS, "text/turtle"),
        (ResultForm.DESCRIBE, "application/sparql-results+json"),
    ],
)
def test_select_and_construct_types_are_not_mixed(
    form: ResultForm, accept: str
) -> None:
    with pytest.raises(NotAcceptableError):
        answer_type(form, [accept])


def test_browser_gets_json_from_a_select() -> None:
    assert (
        answer_type(ResultForm.SELECT, [BROWSER]) == "application/sparql-results+json"
    )
