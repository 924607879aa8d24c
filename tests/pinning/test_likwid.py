"""likwid's expressions, checked by hand and with the real likwid-pin."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from core.stores.endpoint import Endpoint
from pinning.errors import LimitError, PlaceError, PolicyError
from pinning.likwid import likwid_cpus
from pinning.tree import Tree
from tests.pinning.table import SHAPES, load, stored_tree
from tests.pinning.tools import here, needs_likwid_pin


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("S0:0-3@S1:0-3", [0, 1, 2, 3, 8, 9, 10, 11]),
        ("S0:7-8", [7, 16]),
        ("N:15-16", [15, 16]),
        ("M1:0,2", [4, 6]),
        ("M3", [12, 28, 13, 29, 14, 30, 15, 31]),
        ("C1:0-3", [2, 3, 18, 19]),
        ("D1:0", [8]),
        ("L:S1:1-2", [9, 10]),
        ("E:S0:4", [0, 16, 1, 17]),
        ("E:S1:4:1:2", [8, 9, 10, 11]),
        ("E:N:6:2:4", [0, 16, 2, 18, 4, 20]),
        ("S:scatter:4", [0, 8, 1, 9]),
        ("M:scatter:5", [0, 4, 8, 12, 1]),
        ("3,1-2", [3, 1, 2]),
    ],
)
def test_expressions_are_evaluated(tree: Tree, text: str, expected: list[int]) -> None:
    assert likwid_cpus(tree, text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "S0:",
        "S0:0-",
        "S0:0,,1",
        "X0:1",
        "E:S0",
        "E:S0:2:1",
        "S0:0-3@",
        "@",
        "M",
        "0-3-5",
    ],
)
def test_malformed_expression_lists_the_forms(tree: Tree, text: str) -> None:
    with pytest.raises(PolicyError, match="likwid"):
        likwid_cpus(tree, text)


@pytest.mark.parametrize("text", ["E:S0:0", "E:S0:2:3:2", "N0:1", "S:0", "S:scatter:0"])
def test_meaningless_expression_is_refused(tree: Tree, text: str) -> None:
    with pytest.raises(PolicyError):
        likwid_cpus(tree, text)


def test_expression_that_likwid_would_wrap_is_refused(tree: Tree) -> None:
    for text in ("S0:16", "E:S0:17", "E:S0:9:1:2", "S:scatter:33", "C0:4"):
        with pytest.raises(LimitError, match="threads there"):
            likwid_cpus(tree, text)
    with pytest.raises(PlaceError, match="no D2; it has: D0, D1"):
        likwid_cpus(tree, "D2:0")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("S1", [1, 9, 3, 11, 5, 13, 7, 15]),
        ("M0", [0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15]),
        ("N", [0, 8, 2, 10, 4, 12, 6, 14, 1, 9, 3, 11, 5, 13, 7, 15]),
        ("M0:0-9", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
        ("E:M0:4", [0, 8, 1, 9]),
        ("E:M0:3:1:2", [0, 1, 2]),
        ("E:S1:3", [1, 9, 3]),
        ("N:0-5", [0, 2, 4, 6, 1, 3]),
        ("C1:0-4", [1, 3, 5, 7, 9]),
        ("C:scatter:5", [0, 1, 2, 3, 4]),
    ],
)
def test_alternating_cpu_numbers_are_read(
    made_up: Callable[[str], tuple[Tree, Path]], text: str, expected: list[int]
) -> None:
    """Expected values are those of likwid-pin 5.2.2 with this machine's XML."""
    assert likwid_cpus(made_up(SHAPES["numbered-in-turn"])[0], text) == expected


@needs_likwid_pin
def test_expressions_match_likwid_pin(twin: Endpoint, tmp_path: Path) -> None:
    drawn = ["lstopo-no-graphics", "--of", "xml"]
    path = tmp_path / "here.xml"
    path.write_bytes(subprocess.run(drawn, capture_output=True, check=True).stdout)
    load(twin, path, "here")
    tree = stored_tree(twin, "here")
    count = len(tree.allowed)
    for text in (
        *("N", "S0", "M0", "C0", "N:0", "S0:0", "M0:0", "L:N:0", f"N:0-{count - 1}"),
        *(f"E:N:{count}", "E:S0:1", "E:S0:1:1:2", "S:scatter", "M:scatter:1"),
        *(",".join(map(str, here())), "@".join(f"N:{n}" for n in range(count))),
    ):
        output = subprocess.run(
            ["likwid-pin", "-c", text, "-p"], capture_output=True, text=True
        ).stdout
        theirs = [int(cpu) for cpu in output.strip().splitlines()[-1].split(",")]
        assert likwid_cpus(tree, text) == theirs, text
