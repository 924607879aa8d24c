"""Texts are converted so that every format of the twin can contain them."""

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from ontology.texts import writable


@given(st.text(st.characters(exclude_categories=[])))
def test_any_text_becomes_valid_in_xml(text: str) -> None:
    element = ElementTree.Element("a", b=writable(text))
    whole = ElementTree.tostring(element, "utf-8")
    assert ElementTree.fromstring(whole).get("b") == writable(text)
    assert writable(writable(text)) == writable(text)


@given(st.text(st.characters(min_codepoint=32, max_codepoint=0xFFFD, codec="utf-8")))
def test_ordinary_texts_are_unchanged(text: str) -> None:
    assert writable(text) == text


def test_replaced_characters_stay_visible() -> None:
    assert writable("a\0b\x1b[0m\ufffe") == "a\ufffdb\ufffd[0m\ufffd"
    assert writable("tab\tline\nend\r") == "tab\tline\nend\r"
    assert writable("\x7f\x85") == "\x7f\x85"
    assert writable("caf\udce9") == "caf\\udce9"
