"""Samples of several runs over one axis, as lines and as a table."""

import numpy as np

from core.stores.points import Points
from core.stores.series import SeriesKey
from observations.comparison.overlay import as_csv, line_of
from observations.comparison.run_series import RunSeries

MILLISECONDS = "http://qudt.org/vocab/unit/MilliSEC"
STAMPS = np.arange(10_000, 14_000, 1000)


def line(metric: str, *values: float) -> str:
    key = SeriesKey(metric.replace(".", "_"), "cpu0")
    series = RunSeries("r1", "n1", metric, key, True, MILLISECONDS, 1e4, 1.4e4)
    return as_csv([line_of(1, series, Points(STAMPS, np.array(values)))])


def test_impossible_rate_is_bounded_and_marked() -> None:
    rows = line("kernel.percpu.cpu.user", 0, 1000, 2400, 3000).splitlines()
    assert rows == [
        "group,run,metric,instance,seconds,value,bounded",
        "1,r1,kernel.percpu.cpu.user,cpu0,1.0,1000.0,False",
        "1,r1,kernel.percpu.cpu.user,cpu0,2.0,1000.0,True",
        "1,r1,kernel.percpu.cpu.user,cpu0,3.0,600.0,False",
    ]


def test_rates_are_over_the_updates_of_a_slower_source() -> None:
    """A busy CPU, sampled every 1 ms; its time grows by 10 ms every 10 ms."""
    stamps = np.arange(10_000, 11_000)
    busy = Points(stamps, (stamps // 10 * 10).astype(float))
    key = SeriesKey("kernel_percpu_cpu_user", "cpu0")
    metric = "kernel.percpu.cpu.user"
    series = RunSeries("r1", "n1", metric, key, True, MILLISECONDS, 1e4, 1.1e4, 0.01)
    found = line_of(1, series, busy)
    assert set(found.values) == {1000}
    assert set(found.bounded) == {False}
    assert found.seconds[:2] == [0.001, 0.002]


def test_time_of_all_cpus_is_at_most_their_number() -> None:
    key = SeriesKey("kernel_all_cpu_user", None)
    metric = "kernel.all.cpu.user"
    series = RunSeries("r1", "n1", metric, key, True, MILLISECONDS, 1e4, 1.4e4, None, 2)
    points = Points(STAMPS, np.array([0.0, 2000, 4400, 6000]))
    found = line_of(1, series, points)
    assert found.values == [2000, 2000, 1600]
    assert found.bounded == [False, True, False]


def test_rate_without_a_known_maximum_is_not_bounded() -> None:
    rows = line("kernel.all.cpu.user", 0, 1000, 2400, 3000).splitlines()
    assert [row.split(",")[-2:] for row in rows[1:]] == [
        ["1000.0", "False"],
        ["1400.0", "False"],
        ["600.0", "False"],
    ]
