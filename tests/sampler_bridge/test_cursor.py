"""The cursor in its file, and where a restarted store is sent from."""

from pathlib import Path

import pytest

from sampler_bridge.batch import START, Position
from sampler_bridge.cursor import Cursor, Sent, load_cursor, save_cursor


def test_a_cursor_comes_back_from_its_file(tmp_path: Path) -> None:
    cursor = Cursor(Position(3, 40), Position(2, 5), 1.7e9)
    save_cursor(tmp_path / "cursor.json", cursor)
    assert load_cursor(tmp_path / "cursor.json") == cursor


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"taken": [1], "again": [1, 2]}'])
def test_a_broken_cursor_sends_everything(tmp_path: Path, text: str) -> None:
    (tmp_path / "cursor.json").write_text(text)
    assert load_cursor(tmp_path / "cursor.json") == Cursor(START, START, None)


def test_the_last_minute_of_sending_is_sent_again() -> None:
    sent = Sent(Position(1, 0), 1000.0)
    for second in range(200):
        sent.add(Position(1, second), 1000.0 + second)
    assert Position(1, 198) >= sent.again >= Position(1, 199 - 62)
    assert sent.again <= Position(1, 199 - 60)


def test_a_minute_is_one_of_sending_not_of_ticks() -> None:
    sent = Sent(Position(1, 0), 1000.0)
    for record in range(100_000):
        sent.add(Position(1, record), 1000.0 + record / 50_000)
    assert sent.again == Position(1, 0)


def test_time_without_sending_forgets_nothing() -> None:
    sent = Sent(Position(1, 0), 1000.0)
    sent.add(Position(1, 500), 1001.0)
    assert sent.again == Position(1, 0)
    sent.add(Position(1, 900), 5000.0)
    assert sent.again == Position(1, 900)
