"""The cursor file, and where sending resumes after a store restart."""

import json
from pathlib import Path
from typing import Any

import pytest

from sampler_bridge.log.batch import START, Position
from sampler_bridge.sending.cursor import (
    Cursor,
    SentPositions,
    load_cursor,
    save_cursor,
)


def test_cursor_round_trips(tmp_path: Path) -> None:
    cursor = Cursor(Position(3, 40), Position(2, 5), 1.7e9)
    save_cursor(tmp_path / "cursor.json", cursor)
    assert load_cursor(tmp_path / "cursor.json") == cursor


def whole(**changed: Any) -> str:
    document = {"taken": [3, 40], "again": [2, 5], "store": 1.7e9}
    return json.dumps(document | changed)


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", "7", "[" * 100_000, "1" * 5000, "\0", "\xff"),
        '{"taken": [1, 2], "again": [1, 2]}',
        '{"taken": [-1, 1e9]}',
        whole(taken=[1]),
        whole(taken=[1, 2, 3]),
        whole(taken="12"),
        whole(taken=[-1, 0]),
        whole(taken=[10**30, 0]),
        whole(taken=[1.5, 0]),
        whole(again=[1, "2"]),
        whole(again=None),
        whole(store="now"),
        whole(store=float("nan")),
        whole(store=float("inf")),
        whole(store=-1),
        whole(store=[]),
    ],
    ids=lambda text: ascii(text[:30]),
)
def test_broken_cursor_sends_everything_and_is_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str
) -> None:
    (tmp_path / "cursor.json").write_text(text, "latin-1")
    assert load_cursor(tmp_path / "cursor.json") == Cursor(START, START, None)
    (line,) = caplog.messages
    assert "cursor.json is not a cursor" in line and "\n" not in line


def test_first_start_has_no_cursor(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert load_cursor(tmp_path / "cursor.json") == Cursor(START, START, None)
    assert not caplog.messages


def test_last_minute_of_sending_is_sent_again() -> None:
    sent = SentPositions(Position(1, 0), 1000.0)
    for second in range(200):
        sent.add(Position(1, second), 1000.0 + second)
    assert Position(1, 198) >= sent.again >= Position(1, 199 - 62)
    assert sent.again <= Position(1, 199 - 60)


def test_minute_is_measured_by_sending_time() -> None:
    sent = SentPositions(Position(1, 0), 1000.0)
    for record in range(100_000):
        sent.add(Position(1, record), 1000.0 + record / 50_000)
    assert sent.again == Position(1, 0)


def test_idle_time_forgets_nothing() -> None:
    sent = SentPositions(Position(1, 0), 1000.0)
    sent.add(Position(1, 500), 1001.0)
    assert sent.again == Position(1, 0)
    sent.add(Position(1, 900), 5000.0)
    assert sent.again == Position(1, 900)
