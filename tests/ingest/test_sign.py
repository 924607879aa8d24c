"""Which signs are real, and when two sets of them are of the same machine."""

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.schema.schema import Facts
from ingest.sign import KINDS, TIERS, SignMatch, by_kind, judge, signs, unseen_signs

BOARD = {"board": {"serial": "WM19S002834"}, "system": {"uuid": "11-22"}, "bios": {}}
SYSTEM = {"machine_id": "3d1219c7c4c5404aaa1f6d2a48adfda4"}
MACHINE_ID = "machine-id:3d1219c7c4c5404aaa1f6d2a48adfda4"
CARD = {"name": "eno1", "mac": "3C:EC:EF:47:98:6E", "virtual": False}
OF_CARD = "mac:3c:ec:ef:47:98:6e"


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (
            {"board": BOARD, "os": SYSTEM, "nics": [CARD]},
            ["board-serial:WM19S002834", "product-uuid:11-22", MACHINE_ID, OF_CARD],
        ),
        (
            {"board": {**BOARD, "board": {}}, "os": SYSTEM},
            ["product-uuid:11-22", MACHINE_ID],
        ),
        ({"board": {"board": {"serial": "None"}}, "os": SYSTEM}, [MACHINE_ID]),
        ({"board": {"board": None, "system": None}, "os": {"machine_id": None}}, []),
        ({}, []),
        # The original's EPYC: a UUID of zeros that ends in the first card's address.
        (
            {
                "board": {"system": {"uuid": "00000000-0000-0000-0000-3CECEF47986E"}},
                "nics": [CARD],
            },
            [OF_CARD],
        ),
        ({"board": {"system": {"uuid": "00000000-0000-0000-0000-000000000000"}}}, []),
        ({"lshw": {"nics": [CARD]}}, [OF_CARD]),
        ({"nics": [], "lshw": {"nics": [CARD]}}, [OF_CARD]),
    ],
)
def test_facts_give_the_expected_signs(
    facts: dict[str, Any], expected: list[str]
) -> None:
    assert signs(Facts.model_validate(facts)) == expected


@pytest.mark.parametrize(
    "change",
    [
        {"virtual": True},
        {"mac": None},
        {"mac": "52:54:00:12:34:56"},  # QEMU's, locally administered
        {"mac": "02:42:ac:11:00:02"},  # Docker's
        {"mac": "01:00:5e:00:00:01"},  # a group address
        {"mac": "00:00:00:00:00:00"},
        {"mac": "80:00:00:48:fe:80:00:00:00:00:00:00:f4:52:14:03:00:91:72:61"},
        {"businfo": "usb@2-1:1.0"},
        {"permanent_mac": None},  # set by software or taken over, says the kernel
    ],
)
def test_addresses_that_identify_no_machine(change: dict[str, Any]) -> None:
    assert signs(Facts.model_validate({"nics": [CARD | change]})) == []


def test_permanent_address_has_precedence_over_a_bonds() -> None:
    card = CARD | {"mac": "3c:ec:ef:00:00:01", "permanent_mac": CARD["mac"]}
    facts = {"nics": [card, card | {"name": "eno2"}]}
    assert signs(Facts.model_validate(facts)) == [OF_CARD]


@pytest.mark.parametrize(
    ("known", "seen", "verdict"),
    [
        # the same model, another serial
        (["board-serial:A"], ["board-serial:B"], SignMatch.OTHER),
        # clones of one disk image
        (
            ["product-uuid:A", "machine-id:M"],
            ["product-uuid:B", "machine-id:M"],
            "other",
        ),
        (["machine-id:M", "mac:1"], ["machine-id:M", "mac:2"], "other"),
        # a new board, the old system
        (
            ["board-serial:A", "machine-id:M"],
            ["board-serial:B", "machine-id:M"],
            "other",
        ),
        # a new system on the old board, and a new card
        (
            ["board-serial:A", "machine-id:M"],
            ["board-serial:A", "machine-id:N"],
            "same",
        ),
        (["product-uuid:A", "mac:1"], ["product-uuid:A", "mac:2"], "same"),
        # one of two cards was replaced
        (["mac:1", "mac:2"], ["mac:2", "mac:3"], "same"),
        # a board serial that its maker used twice
        (
            ["board-serial:A", "product-uuid:1"],
            ["board-serial:A", "product-uuid:2"],
            "other",
        ),
        # with root and without
        (["board-serial:A", "machine-id:M"], ["machine-id:M"], "same"),
        (["board-serial:A"], ["machine-id:M"], "unknown"),
        ([], ["board-serial:A"], "unknown"),
    ],
)
def test_known_and_seen_signs_give_a_verdict(
    known: list[str], seen: list[str], verdict: Any
) -> None:
    assert judge(known, seen).verdict is SignMatch(verdict)


TEXTS = st.lists(
    st.builds("{}:{}".format, st.sampled_from([*KINDS]), st.sampled_from("12")),
    max_size=6,
)


@given(TEXTS, TEXTS)
def test_verdict_is_symmetric(one: list[str], other: list[str]) -> None:
    assert judge(one, other) == judge(other, one)


@given(TEXTS)
def test_machine_with_a_sign_matches_itself(texts: list[str]) -> None:
    assert (judge(texts, texts).verdict is SignMatch.SAME) == bool(texts)


@given(TEXTS, TEXTS)
def test_order_of_signs_does_not_matter(one: list[str], other: list[str]) -> None:
    assert len({judge(order, other) for order in permutations(one[:3])}) <= 1


@given(TEXTS, TEXTS)
def test_strongest_common_tier_decides(one: list[str], other: list[str]) -> None:
    """Computed again from the sets: weaker tiers must not change the verdict."""
    left, right = by_kind(one), by_kind(other)
    expected = SignMatch.UNKNOWN
    for tier in reversed(TIERS):
        shared = [kind for kind in tier if left[kind] and right[kind]]
        if shared:
            alike = all(left[kind] & right[kind] for kind in shared)
            expected = SignMatch.SAME if alike else SignMatch.OTHER
    assert judge(one, other).verdict is expected


@given(TEXTS, TEXTS)
def test_kept_signs_never_contradict_seen_signs(
    known: list[str], seen: list[str]
) -> None:
    kept = unseen_signs(known, seen)
    assert by_kind(kept).keys().isdisjoint(by_kind(seen))
    assert set(kept) <= set(known)
    if seen:
        assert judge([*seen, *kept], seen).verdict is SignMatch.SAME


def test_every_kind_is_in_one_tier() -> None:
    assert sorted(kind for tier in TIERS for kind in tier) == sorted(KINDS)
