"""The absence and its lost points, estimated from the file of an earlier process."""

import logging
from pathlib import Path

import pytest

from sampling.account.absence import DIED, STOPPED, AbsenceTracker


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "counted.json"


def test_first_start_has_no_absence(path: Path) -> None:
    assert AbsenceTracker(path, 1000.0).absence is None


@pytest.mark.parametrize(("stopped", "reason"), [(True, STOPPED), (False, DIED)])
def test_missed_points_are_estimated_from_the_last_seconds(
    path: Path, stopped: bool, reason: str
) -> None:
    counted = AbsenceTracker(path, 900.0)
    for second in range(100):
        counted.keep(1000.0 + second, 50 * second)
    counted.keep(1100.0, 5000, stopped)
    absence = AbsenceTracker(path, 1110.5).absence
    assert absence is not None
    assert (absence.since, absence.seconds, absence.points) == (1100.0, 10.5, 525)
    assert absence.reason == reason


def test_one_reading_gives_no_rate(path: Path) -> None:
    AbsenceTracker(path, 900.0).keep(1000.0, 50)
    absence = AbsenceTracker(path, 1001.0).absence
    assert absence is not None and absence.points == 0


def test_clock_set_back_gives_no_estimate(path: Path) -> None:
    AbsenceTracker(path, 900.0).keep(1000.0, 50)
    assert AbsenceTracker(path, 999.0).absence is None


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "{}", '{"until": "x"}', "\0", '{"until": NaN}']
)
def test_damaged_file_is_reported_once(
    path: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    path.write_text(text)
    with caplog.at_level(logging.WARNING):
        counted = AbsenceTracker(path, 1000.0)
    assert counted.absence is None
    assert len(caplog.messages) == 1 and "is not an account" in caplog.messages[0]
    counted.keep(1000.0, 5)
    assert AbsenceTracker(path, 1001.0).absence is not None
