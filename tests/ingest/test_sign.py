"""The sign is the strongest of those that are real."""

from typing import Any

import pytest

from ingest.sign import sign, signs

BOARD = {"board": {"serial": "WM19S002834"}, "system": {"uuid": "11-22"}, "bios": {}}
SYSTEM = {"machine_id": "3d1219c7c4c5404aaa1f6d2a48adfda4"}


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"board": BOARD, "os": SYSTEM}, "board-serial:WM19S002834"),
        ({"board": {**BOARD, "board": {}}, "os": SYSTEM}, "product-uuid:11-22"),
        (
            {
                "board": {**BOARD, "board": {"serial": "None"}, "system": {}},
                "os": SYSTEM,
            },
            "machine-id:3d1219c7c4c5404aaa1f6d2a48adfda4",
        ),
        ({"os": SYSTEM}, "machine-id:3d1219c7c4c5404aaa1f6d2a48adfda4"),
        ({"os": {"machine_id": None}}, None),
        ({}, None),
    ],
)
def test_the_strongest_sign(facts: dict[str, Any], expected: str | None) -> None:
    assert sign(facts) == expected


def test_all_signs() -> None:
    assert list(signs({"board": BOARD, "os": SYSTEM})) == [
        "board-serial",
        "product-uuid",
        "machine-id",
    ]
