"""What follows from recorded regions: times, scaled counts, figures, and the table."""

from decimal import Decimal
from typing import Any

import pytest

from observations.errors import RunnerEventError
from observations.events import event_of
from observations.regions.counting import (
    CountedRole,
    RegionCounting,
    figures_of,
)
from observations.regions.regions import not_recorded, regions_of
from observations.regions.table import table

EVENTS = [{"name": "a", "reason": ""}, {"name": "b", "reason": ""}]
# Counts have value, enabled and running time: b had a counter half of the time.
COUNTS = [[10, 100, 100], [10, 100, 50]]


def event(**changes: Any) -> dict[str, Any]:
    return {
        "event": "regions",
        "reasons": [],
        "events": EVENTS,
        "user_only": False,
        "omitted": 0,
        "unbalanced": 0,
        "unfinished": 0,
        "unreadable": 0,
        "regions": [[-1, "main"], [0, "solve"]],
        "threads": [
            {
                "rank": -1,
                "process": 0,
                "thread": 0,
                "piped": False,
                "times": [
                    [0, 1, 4 * 10**9, 2 * 10**9, COUNTS],
                    [1, 10, 2 * 10**9, 10**9, COUNTS],
                ],
            },
            {
                "rank": 3,
                "process": 1,
                "thread": 1,
                "piped": False,
                "times": [[1, 5, 10**9, 10**9, COUNTS]],
            },
        ],
        **changes,
    }


def test_region_sums_its_threads() -> None:
    main, solve = regions_of(event()).regions
    assert (main.path, solve.path, solve.parent) == ("main", "main / solve", 0)
    assert (solve.entries, solve.seconds, solve.cpu) == (15, 2.0, 2.0)
    assert [(one.rank, one.thread) for one in solve.times] == [(0, 0), (3, 1)]


def test_count_is_scaled_to_the_time_without_a_counter() -> None:
    record = regions_of(event())
    whole, half = record.counts(record.regions[1])
    assert (whole.value, whole.dutycycle) == (20.0, 1.0)
    assert (half.value, half.dutycycle) == (40.0, 0.5)


def test_count_that_is_unknown_has_a_reason() -> None:
    never = [[0, 100, 0], [0, 0, 0]]
    threads = event()["threads"]
    threads[0]["times"][1][4] = threads[1]["times"][0][4] = never
    record = regions_of(event(threads=threads))
    first, second = record.counts(record.regions[1])
    assert first.reason == "a never had a counter: too many were requested"
    assert second.reason == "b was not counted"
    refused = [{"name": "a", "reason": "refused"}, EVENTS[1]]
    record = regions_of(event(events=refused))
    assert record.counts(record.regions[1])[0].reason == "refused"


def test_figures_follow_from_roles() -> None:
    record = regions_of(event())
    counting = RegionCounting(
        roles=(
            CountedRole("FLOPs", "unit", ((Decimal(2), "a"), (Decimal(1), "b"))),
            CountedRole("DramTraffic", reason="it is counted for each socket"),
            CountedRole("Cycles", terms=((Decimal(1), "missing"),)),
        )
    )
    found = {one.name: one for one in figures_of(record, record.regions[1], counting)}
    # 2 * 20 + 40 in the 2 s of the thread that took the longest.
    assert (found["FLOPs"].value, found["FLOPs"].dutycycle) == (80.0, 0.5)
    assert found["FLOP rate"].value == 40.0
    assert found["arithmetic intensity"].reason == "it is counted for each socket"
    assert "missing is not among them" in found["Cycles"].reason


def test_table_indents_regions_and_names_what_is_missing() -> None:
    counts = {"unbalanced": 2, "unfinished": 1}
    lines = table(regions_of(event(**counts, reasons=["no compiler"])), 8.0)
    assert lines[1].split() == ["main", "1", "1", "4.000000", "50.0%", "2.000000"]
    assert lines[2].startswith("  solve ")
    assert lines[3:] == [
        "regions: no compiler",
        "regions: 2 ends without a beginning",
        "regions: 1 region without an end",
    ]
    assert table(not_recorded(), 1.0) == [
        "regions: the run ended before its regions were read"
    ]


def test_table_cuts_what_is_long() -> None:
    regions = [[-1, "x" * 100], *([-1, str(at)] for at in range(1, 30))]
    times = [[at, 1, 1, 1, []] for at in range(30)]
    threads = [{**event()["threads"][0], "times": times}]
    lines = table(regions_of(event(regions=regions, threads=threads)), 0.0)
    assert len(lines) == 17
    assert lines[1].startswith("x" * 30 + "…")
    assert lines[-1].startswith("15 more regions")


@pytest.mark.parametrize(
    "wrong",
    [
        '"regions": [[0, "main"]], "threads": []',
        '"regions": [[-2, "main"]], "threads": []',
        '"regions": [], "threads": [{"rank": -1, "process": 0, "thread": 0, '
        '"piped": true, "times": [[0, 1, 1, null, []]]}]',
        '"regions": [[-1, "main"]], "threads": [{"rank": -1, "process": 0, '
        '"thread": 0, "piped": true, "times": [[0, 1, -1, null, []]]}]',
    ],
)
def test_regions_that_no_runner_reports_are_refused(wrong: str) -> None:
    counts = '"omitted": 0, "unbalanced": 0, "unfinished": 0, "unreadable": 0'
    rest = f'"reasons": [], "events": [], "user_only": false, {counts}'
    with pytest.raises(RunnerEventError):
        event_of(f'{{"event": "regions", {rest}, {wrong}}}'.encode())
