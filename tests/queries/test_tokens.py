"""SPARQL is read as tokens, whatever its strings and comments contain."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queries.tokens import read_tokens


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("SELECT?a{}", "variable other other"),
        ("st:a :b c: :", "name name name name"),
        ("_:b _: a.b:c a.:c", "node name name word name"),
        ("<a> < b <\\u0061b> <a\\b>", "iri other word iri other word other word other"),
        ("1SERVICE 1.5e3 .5 -2", "number word number number other number"),
        ("'a'@en \"b\"^^x:y", "string language string other other name"),
        ("²", "other"),
    ],
)
def test_tokens_have_kinds(text: str, kinds: str) -> None:
    found = [token.kind for token in read_tokens(text)]
    assert " ".join(found) == kinds.replace("variable", "word variable")


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("'a' \"b'c\" '' \"\"", "string string string string"),
        (r"'a\'b' '\\'c", "string string word"),
        ("'''a'b''c\n''' \"\"\"a\"\"b\"\"\"", "string string"),
        (r"'''a\'''b''''c'", "string string"),
        (r"'''a\\''' '''\''''", "string string"),
        ("'''a' 'b", "string string other word"),
        ("'a\n'b'", "other word string"),
        ("'a\\\n'b'", "other word other string"),
        ("'a\r\"b'", "other word other word other"),
        ('"\\"\\"', "other other other other other"),
        ("# 'a\r'b' # 'c'\n\ufeff'd'", "string string"),
    ],
)
def test_strings_end_at_their_closing_quote(text: str, kinds: str) -> None:
    assert " ".join(token.kind for token in read_tokens(text)) == kinds


TEXTS = st.text(st.sampled_from(string.printable + "é\u200d\ufeff\0"), max_size=60)
QUOTED = st.text(st.sampled_from("\"'\\\nab#"), max_size=20)


@given(TEXTS | QUOTED)
def test_tokens_have_exact_positions_and_cover_the_text(text: str) -> None:
    end = 0
    for token in read_tokens(text):
        assert text[token.start : token.end] == token.text
        between = text[end : token.start]
        assert "#" in between or not between.strip("\ufeff" + string.whitespace)
        end = token.end
    assert end <= len(text)


@given(QUOTED, QUOTED)
def test_string_is_read_the_same_at_any_position(before: str, text: str) -> None:
    """The tokens before it do not affect it."""
    found = list(read_tokens(before + " \n" + text))
    rest = [token.start for token in found if token.start >= len(before) + 2]
    if rest and all(token.end <= len(before) + 1 for token in found[: -len(rest)]):
        alone = [token.start for token in read_tokens(text)]
        assert [start - len(before) - 2 for start in rest] == alone


@given(st.text(st.sampled_from(string.printable), max_size=60) | QUOTED)
def test_ascii_is_read_the_same_before_other_letters(text: str) -> None:
    """The same text must give the same tokens when a non-ASCII comment follows."""
    closed = f"{text}\n"
    assert [*read_tokens(closed)] == [*read_tokens(f"{closed}#é")]


LONG = [
    *("a.", "'''", '"', "<a", "x:", "((", "1e", "_:a", "#", "x:%41", "@a-", "<\\u0061"),
    *('\\"', "\\'", "\n\\'''", '\\"""', "\\u0061", "'\\", '"\\"', '"""\\'),
]


@pytest.mark.parametrize("bit", LONG)
def test_long_texts_take_linear_time(bit: str) -> None:
    text = f"SELECT * {{ {bit * 50_000}\n' ''' \" \n SERVICE }}\nLAST"
    assert [*read_tokens(text)][-1].text == "LAST"
