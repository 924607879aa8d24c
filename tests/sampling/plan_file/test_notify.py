"""Notifications between processes, and folders in which they are impossible."""

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event, Timer

import pytest

from sampling.plan_file.notify import NOTIFY_FILE, NotificationPipe, PlanName, notify


def seconds(notifications: NotificationPipe, longest: float) -> float:
    started = time.monotonic()
    notifications.wait(longest)
    return time.monotonic() - started


def test_notification_ends_the_wait_and_many_count_as_one(tmp_path: Path) -> None:
    notifications, begun = NotificationPipe(tmp_path), Event()

    def begin() -> None:
        begun.set()
        notify(tmp_path)

    Timer(0.1, begin).start()
    assert seconds(notifications, 120) < 60
    assert begun.is_set()
    assert all(notify(tmp_path) for _ in range(100_000))
    assert seconds(notifications, 120) < 60
    while seconds(notifications, 0.05) < 0.04:
        pass
    assert seconds(notifications, 0.2) > 0.15
    notifications.close()


def test_without_a_listening_bridge_notify_returns_false(tmp_path: Path) -> None:
    assert not notify(tmp_path / "none")
    NotificationPipe(tmp_path).close()
    assert (tmp_path / NOTIFY_FILE).is_fifo()
    assert not notify(tmp_path)


def test_pipe_of_an_earlier_bridge_serves_the_next(tmp_path: Path) -> None:
    NotificationPipe(tmp_path).close()
    notifications = NotificationPipe(tmp_path)
    assert notify(tmp_path)
    assert seconds(notifications, 120) < 60
    notifications.close()


def test_wait_works_without_a_pipe(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / NOTIFY_FILE).write_text("no pipe")
    notifications = NotificationPipe(tmp_path)
    notify(tmp_path)
    assert (tmp_path / NOTIFY_FILE).read_text() == "no pipe"
    assert seconds(notifications, 0.1) > 0.08
    with caplog.at_level(logging.WARNING):
        nowhere = NotificationPipe(tmp_path / "none")
    assert "no notifications" in caplog.text
    assert seconds(nowhere, 0.1) > 0.08
    assert [path.name for path in tmp_path.iterdir()] == [NOTIFY_FILE]


def test_notifications_name_the_changed_plans(tmp_path: Path) -> None:
    notifications = NotificationPipe(tmp_path)
    first, second = PlanName("n 1", 'a"\n'), PlanName("\u00f6", "b")
    assert notify(tmp_path, first)
    assert notify(tmp_path, second)
    assert notify(tmp_path, first)
    assert notifications.wait(1) == {first, second}
    assert notifications.wait(0.01) == set()
    notifications.close()


@pytest.mark.parametrize(
    "others",
    [[None], [PlanName("h" * 2000, "a")], [PlanName("h", "a")] * 10_000],
    ids=["one without a name", "a long name", "more than the pipe holds"],
)
def test_notifications_may_name_no_plan(
    tmp_path: Path, others: list[PlanName | None]
) -> None:
    notifications = NotificationPipe(tmp_path)
    for named in (PlanName("n1", "fast"), *others):
        assert notify(tmp_path, named)
    assert notifications.wait(1) == set()
    notifications.close()


@pytest.mark.parametrize(
    "message", [b"what\n", b"[1, 2]\n", b'["a"]\n', b"7\n", b"\xff\n"]
)
def test_invalid_notification_names_no_plan(tmp_path: Path, message: bytes) -> None:
    notifications = NotificationPipe(tmp_path)
    with (tmp_path / NOTIFY_FILE).open("wb", buffering=0) as pipe:
        pipe.write(message)
    assert notifications.wait(1) == set()
    notifications.close()


def replace(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("harm", [Path.unlink, replace])
def test_deleted_pipe_is_made_again(
    tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    notifications = NotificationPipe(tmp_path)
    harm(tmp_path / NOTIFY_FILE)
    notifications.wait(0.01)
    named = PlanName("n1", "fast")
    assert notify(tmp_path, named)
    assert notifications.wait(120) == {named}
    notifications.close()


def test_folder_created_later_gets_a_pipe(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    state = tmp_path / "state"
    notifications = NotificationPipe(state)
    for _ in range(3):
        notifications.wait(0.01)
    assert caplog.text.count("no notifications") == 1
    state.mkdir()
    notifications.wait(0.01)
    assert notify(state)
    notifications.close()
