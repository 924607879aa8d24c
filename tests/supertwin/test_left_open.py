"""What a process leaves of observations for the next one, as files."""

from pathlib import Path

from observations.record import Asked
from supertwin.observing.marks import Mark, read_mark
from supertwin.observing.open_sessions import forget_open, keep_open, left_open
from supertwin.observing.repetition import begun, left_of
from supertwin.observing.wish import Wish

WISH = Wish(
    Asked(
        "n1",
        ("echo", 'a "b"'),
        (0, 3),
        tags=("ü", "x y"),
        period_ms=10,
        metrics=("k.a", "k.b"),
        environment={"A": "b\nc"},
        repeat=2,
        timeout=1.5,
    ),
    attended=True,
)


def test_a_wish_is_found_again_until_it_is_forgotten(tmp_path: Path) -> None:
    other = Wish(Asked("n2", ("true",)))
    keep_open(tmp_path, "one", WISH)
    keep_open(tmp_path, "two", other)
    (tmp_path / "observing" / "torn.json").write_text('{"asked": {')
    (tmp_path / "observing" / "strange.json").write_text('{"asked": {"colour": 1}}')
    assert dict(left_open(tmp_path)) == {"one": WISH, "two": other}
    forget_open(tmp_path, "one")
    forget_open(tmp_path, "one")
    assert dict(left_open(tmp_path)) == {"two": other}


def test_nothing_is_left_where_nothing_was(tmp_path: Path) -> None:
    assert list(left_open(tmp_path)) == []
    assert left_of(tmp_path, WISH, "one") == []


def test_a_mark_is_read_as_it_was(tmp_path: Path) -> None:
    values = {("k.a", None): 1.5, ("k.b", "cpu0"): 2.0**60, ("k.b", "ü, b"): 0.0}
    path = tmp_path / "mark.json"
    path.write_text(Mark(1700000000123.5, values).text)
    assert read_mark(path) == Mark(1700000000123.5, values)
    path.write_text("{")
    assert read_mark(path) is None


def test_runs_are_found_with_all_that_was_said_whole(tmp_path: Path) -> None:
    before = Mark(5.0, {("k.a", None): 1.0})
    first = begun(tmp_path, WISH, "one", 1, before)
    started, alive = {"event": "started"}, {"event": "alive"}
    first.take(started)
    first.take(alive)
    first.look_after(Mark(6.0, {("k.a", None): 2.0}))
    with (first.folder / "events.jsonl").open("a") as events:
        events.write('{"event": "ov')
    # A folder that was made, and nothing more.
    (tmp_path / "observations" / "one-2").mkdir()
    (found,) = left_of(tmp_path, WISH, "one")
    assert (found.id, found.wish, found.before) == ("one-1", first.wish, before)
    assert (found.wish.asked.group, found.wish.asked.repetition) == ("one", 1)
    assert found.events == [started, alive]
    assert found.after == Mark(6.0, {("k.a", None): 2.0})
    assert not found.is_over
    # What comes next is a line of its own.
    found.take({"event": "ended"})
    begun(tmp_path, WISH, "one", 2, before)
    again, second = left_of(tmp_path, WISH, "one")
    assert [event["event"] for event in again.events] == ["started", "alive", "ended"]
    assert again.is_over
    assert (second.id, second.events, second.is_recorded) == ("one-2", [], True)
