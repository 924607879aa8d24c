"""The table of states and transitions, and its description in the documentation."""

import re
from collections.abc import Iterator

import pytest

from observations.session.run_state import TOO_LATE, TRANSITIONS, Event, RunState, State
from tests.servers import ROOT


def test_no_event_is_both_allowed_and_too_late() -> None:
    assert TRANSITIONS.keys() == {*State}
    for event, states in TOO_LATE.items():
        assert not [state for state in states if event in TRANSITIONS[state]]


def test_impossible_event_is_a_fault() -> None:
    state = RunState("run1")
    with pytest.raises(RuntimeError, match="run1: end while requested"):
        state.change(Event.END)
    assert state.now is State.REQUESTED


def rows(heading: str) -> Iterator[list[str]]:
    """Yield the cells of the first table below a heading of the page."""
    text = (ROOT / "docs/reference/observations.md").read_text().partition(heading)[2]
    table = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert table
    for line in table[0].splitlines()[2:]:
        yield [cell.strip() for cell in line.strip("|").split("|")]


def test_the_documentation_lists_the_same_transitions() -> None:
    found = {
        state.strip("`"): dict(re.findall(r"`(\w+)` → `(\w+)`", leaves))
        for state, _, leaves, _ in rows("## States of a run\n")
    }
    assert found == TRANSITIONS


def test_the_documentation_explains_every_event() -> None:
    found = {
        event.strip("`"): {*re.findall(r"`(\w+)`", too_late)}
        for event, _, _, too_late in rows("**Events.**")
    }
    assert found == {event: TOO_LATE.get(event, set()) for event in Event}
