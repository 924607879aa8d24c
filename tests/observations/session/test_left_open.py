"""The files that a process leaves about open observations for the next process."""

from dataclasses import replace
from pathlib import Path

import pytest

from observations.record import RunRequest, RunSpec
from observations.session import repetition
from observations.session.counter_snapshots import CounterSnapshot, read_snapshot
from observations.session.repetition import (
    SPEC,
    EventLog,
    begin_run,
    discard_unstarted,
    unfinished_runs,
)
from observations.session.session_journal import (
    add_open_request,
    note_failure,
    open_requests,
    remove_open_request,
)

REQUEST = RunRequest(
    RunSpec(
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


def test_request_is_read_back_until_it_is_removed(tmp_path: Path) -> None:
    other = RunRequest(RunSpec("n2", ("true",)))
    add_open_request(tmp_path, "one", REQUEST)
    add_open_request(tmp_path, "two", other)
    (tmp_path / "observing" / "torn.json").write_text('{"asked": {')
    (tmp_path / "observing" / "strange.json").write_text('{"asked": {"colour": 1}}')
    assert dict(open_requests(tmp_path)) == {"one": REQUEST, "two": other}
    remove_open_request(tmp_path, "one")
    remove_open_request(tmp_path, "one")
    assert dict(open_requests(tmp_path)) == {"two": other}


def test_session_that_fails_twice_is_set_aside(tmp_path: Path) -> None:
    add_open_request(tmp_path, "one", REQUEST)
    note_failure(tmp_path, "one")
    assert dict(open_requests(tmp_path)) == {"one": REQUEST}
    note_failure(tmp_path, "one")
    assert dict(open_requests(tmp_path)) == {}
    (aside,) = (tmp_path / "observing").iterdir()
    aside.rename(aside.with_suffix(".json"))
    note_failure(tmp_path, "one")
    assert dict(open_requests(tmp_path)) == {"one": REQUEST}
    remove_open_request(tmp_path, "one")
    assert not [*(tmp_path / "observing").iterdir()]


def test_missing_folder_has_no_open_sessions(tmp_path: Path) -> None:
    assert list(open_requests(tmp_path)) == []
    assert unfinished_runs(tmp_path, REQUEST, "one") == []


def test_snapshot_round_trips(tmp_path: Path) -> None:
    values = {("k.a", None): 1.5, ("k.b", "cpu0"): 2.0**60, ("k.b", "ü, b"): 0.0}
    path = tmp_path / "snapshot.json"
    snapshot = CounterSnapshot(
        1700000000123.5, values, frozenset({"k.b"}), "7 3", "one"
    )
    path.write_text(snapshot.text)
    assert read_snapshot(path) == snapshot
    # The format of an earlier version, whose runs may still be open.
    path.write_text('{"at_ms": 1.5, "values": [["k.a", null, 2.0]]}')
    assert read_snapshot(path) == CounterSnapshot(1.5, {("k.a", None): 2.0})
    path.write_text("{")
    assert read_snapshot(path) is None


def test_unfinished_runs_are_read_with_their_complete_events(tmp_path: Path) -> None:
    before = CounterSnapshot(5.0, {("k.a", None): 1.0})
    first = begin_run(tmp_path, REQUEST, "one", 1, before)
    started, alive = {"event": "started"}, {"event": "alive"}
    first.take(started)
    first.take(alive)
    first.snapshot_after(CounterSnapshot(6.0, {("k.a", None): 2.0}))
    with (first.folder / "events.jsonl").open("a") as events:
        events.write('{"event": "ov')
    # A folder that was created and is empty.
    (tmp_path / "observations" / "one-2").mkdir()
    (found,) = unfinished_runs(tmp_path, REQUEST, "one")
    assert (found.id, found.run_request, found.before) == (
        "one-1",
        first.run_request,
        before,
    )
    assert (found.run_request.spec.group, found.run_request.spec.repetition) == (
        "one",
        1,
    )
    assert found.log.events == [started, alive]
    assert found.after == CounterSnapshot(6.0, {("k.a", None): 2.0})
    assert not found.is_over
    # The next event gets a line of its own.
    found.take({"event": "ended"})
    begin_run(tmp_path, REQUEST, "one", 2, before)
    again, second = unfinished_runs(tmp_path, REQUEST, "one")
    assert [event["event"] for event in again.log.events] == [
        "started",
        "alive",
        "ended",
    ]
    assert again.is_over
    assert (second.id, second.log.events, second.is_recorded) == ("one-2", [], True)


def beat(number: int, *pids: int) -> dict[str, object]:
    return {"event": "alive", "ns": number, "pids": [*pids]}


def test_last_heartbeat_is_kept_and_all_are_counted() -> None:
    found = EventLog([{"event": "started"}, beat(1, 7, 8)])
    assert found.since(1) == [(2, beat(1, 7, 8))]
    found.add({"event": "output"})
    found.add(beat(2, 7, 9))
    found.add(beat(3, 7))
    assert found.count == 5
    assert list(found.pids) == [7, 8, 9]
    assert found.since(0) == [
        (1, {"event": "started"}),
        (3, {"event": "output"}),
        (5, beat(3, 7)),
    ]
    assert found.since(3) == found.since(4) == [(5, beat(3, 7))]
    assert found.since(5) == []


def test_process_is_recorded_once(tmp_path: Path) -> None:
    """Otherwise the beats of a thousand processes would take 600 MB a day."""
    run = begin_run(tmp_path, REQUEST, "one", 1, CounterSnapshot())
    run.take({"event": "started", "pid": 7})
    many = range(7, 1007)
    for number in range(100):
        run.take(beat(number, *many))
    run.take(beat(100, 7, 2000))
    assert len(run.log.events) == 2
    assert (run.folder / "events.jsonl").stat().st_size < 20_000
    (found,) = unfinished_runs(tmp_path, REQUEST, "one")
    assert found.log.count == run.log.count == 102
    assert found.log.pids == run.log.pids == dict.fromkeys((*many, 2000))
    # Until the next beat it lists all processes that existed, the command first.
    assert found.log.last == {**beat(100), "pids": [*many, 2000]}


def test_event_that_cannot_be_written_is_not_counted(tmp_path: Path) -> None:
    run = begin_run(tmp_path, REQUEST, "one", 1, CounterSnapshot())
    (run.folder / "events.jsonl").mkdir()
    with pytest.raises(OSError, match="events"):
        run.take({"event": "started"})
    assert run.log.count == 0


def test_only_runs_that_started_are_kept(tmp_path: Path) -> None:
    run_request = replace(REQUEST, spec=replace(REQUEST.spec, repeat=4))
    for events in (["started", "ended"], ["refused"], []):
        number = len([*tmp_path.glob("observations/*")]) + 1
        run = begin_run(tmp_path, run_request, "one", number, CounterSnapshot())
        for event in events:
            run.take({"event": event, "reason": "no such command"})
    torn = tmp_path / "observations" / "one-4"
    torn.mkdir()
    (torn / SPEC).write_text("{}")
    discard_unstarted(
        tmp_path, run_request, "one", unfinished_runs(tmp_path, run_request, "one")
    )
    (kept,) = (tmp_path / "observations").iterdir()
    assert kept.name == "one-1"


def test_run_that_cannot_be_prepared_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: object) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(repetition, "program", full)
    with pytest.raises(OSError, match="No space"):
        begin_run(tmp_path, REQUEST, "one", 1, CounterSnapshot())
    assert not [*(tmp_path / "observations").iterdir()]
