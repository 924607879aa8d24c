"""Words become policies; the error for an unreadable word lists the valid ones."""

import pytest

from pinning.errors import PolicyError
from pinning.policy import WORDS, Policy, SharePolicy, read_policy


def test_words_are_joined_by_plus_or_spaces() -> None:
    text = "per:socket=4+distinct:l1 scatter  exclude:0-1,8+near:gpu=0000:1b:00.0"
    assert read_policy(text) == Policy(
        "per:socket=4+distinct:l1+scatter+exclude:0-1,8+near:gpu=0000:1b:00.0",
        order="scatter",
        distinct=("l1",),
        per=("socket", 4),
        near=(("gpu", "0000:1b:00.0"),),
        exclude=frozenset({0, 1, 8}),
    )
    assert read_policy("share:l3:of=5+cores:p").share == (SharePolicy("l3", 5),)
    assert read_policy("compact-cores").distinct == ("core",)


@pytest.mark.parametrize("text", ["", " + ", "compat", "l3", "scater", "distinkt:l1"])
def test_unknown_word_lists_the_known(text: str) -> None:
    with pytest.raises(PolicyError) as caught:
        read_policy(text)
    assert ", ".join(WORDS) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("compat", "did you mean compact"),
        ("distinct", "write distinct:KIND"),
        ("distinct:", "write distinct:KIND"),
        ("distinct:l4", "'l4': expected one of core, l1, l2, l3, die, numa, socket"),
        ("distinct:l1+distinct:l1", "repeats the word"),
        ("compact:5", "write compact"),
        ("compact+scatter", "compact and scatter are two orders"),
        ("idle+compact-cores", "idle and compact-cores are two orders"),
        ("per:socket", "such as per:socket=4"),
        ("per:socket=0", "such as per:socket=4"),
        ("per:socket=2+per:numa=1", "one is allowed"),
        ("share:l3:of=x", "share:l3:of=CPU"),
        ("share:l3:5", "share:l3:of=CPU"),
        ("near:tpu=0", "near:gpu=NAME"),
        ("near:gpu", "near:gpu=NAME"),
        ("cores:x", "cores:p or cores:e"),
        ("cores:p+cores:e", "exclude each other"),
        ("exclude:a-b", "not a list of CPUs"),
        ("exclude:5-3", "not a range of CPUs"),
        ("exclude:0-999999", "not a range of CPUs"),
        ("exclude:0-99999,0-99999", "more than 100000 CPUs"),
        ("likwid:S0:0+scatter", "leave the other words out"),
        ("x" * 3000, "a policy of 3000 characters"),
    ],
)
def test_typo_gets_a_suggestion(text: str, message: str) -> None:
    with pytest.raises(PolicyError) as caught:
        read_policy(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
