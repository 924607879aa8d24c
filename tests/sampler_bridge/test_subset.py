"""Samples of chosen instances, and the gaps of those that are absent."""

import numpy as np

from sampler_bridge.sampling.subset import ABSENT, Subset
from sampling.account.reasons import GapCause, GapReason
from sampling.plan_file.choice import InstanceSelection
from sampling.sources.pcp_layout import NAMELESS
from sampling.sources.source import Gap, Sample, SampleColumn, Series
from sampling.sources.thread_metrics import thread_instance

CPUS = tuple(Series("cpu", f"cpu{number}") for number in range(4))
DENIED = GapCause(GapReason.DENIED, "Permission denied")
BOTH = (*CPUS, Series("load", None))


def sample(series: tuple[Series, ...] = BOTH, **missing: Gap) -> Sample:
    values = np.arange(len(series), dtype=np.uint64)
    return Sample((SampleColumn(series, values),), missing)


def kept(found: Sample) -> dict[Series, int]:
    return {
        series: int(value)
        for column in found.columns
        for series, value in zip(column.series, column.values, strict=True)
    }


def test_sample_without_choices_is_unchanged() -> None:
    whole = sample()
    assert Subset({}).of(whole) is whole


def test_only_and_except_split_a_metric() -> None:
    names = frozenset({"cpu1", "cpu3"})
    fine, coarse = (
        Subset({"cpu": InstanceSelection(names)}),
        Subset({"cpu": InstanceSelection(None, names)}),
    )
    assert kept(fine.of(sample(CPUS))) == {CPUS[1]: 1, CPUS[3]: 3}
    assert kept(coarse.of(sample())) == {CPUS[0]: 0, CPUS[2]: 2, BOTH[4]: 4}


def test_series_of_a_column_stay_the_same_object() -> None:
    subset = Subset({"cpu": InstanceSelection(frozenset({"cpu0"}))})
    first, second = subset.of(sample()), subset.of(sample())
    assert first.columns[0].series is second.columns[0].series
    other = subset.of(sample(CPUS[2:]))
    assert kept(other) == {}


def test_missing_named_instance_is_a_gap() -> None:
    subset = Subset({"cpu": InstanceSelection(frozenset({"cpu0", "cpu8", "cpu9"}))})
    assert subset.expected(["cpu", "load"]) == 4
    found = subset.of(sample())
    assert found.missing == {"cpu": Gap(ABSENT, 2)}
    assert found.expected == 4


def test_gap_counts_chosen_instances_only() -> None:
    down = Gap(DENIED, 4)
    only = Subset({"cpu": InstanceSelection(frozenset({"cpu0"}))})
    assert only.of(sample((), cpu=down)).missing == {"cpu": Gap(DENIED, 1)}
    but = Subset({"cpu": InstanceSelection(None, frozenset({"cpu0"}))})
    but.of(sample())
    assert but.of(sample((), cpu=down)).missing == {"cpu": Gap(DENIED, 3)}


def test_gap_of_unchosen_instances_is_dropped() -> None:
    """Three of four exist; the gap says how many are missing, not which."""
    nameless = Gap(NAMELESS, 1)
    only = Subset({"cpu": InstanceSelection(frozenset({"cpu0", "cpu3"}))})
    assert only.of(sample(CPUS, cpu=nameless)).missing == {}
    part = only.of(sample(CPUS[:3], cpu=nameless))
    assert part.missing == {"cpu": nameless}
    assert part.expected == only.of(sample((), cpu=nameless)).expected == 2


def test_named_process_without_threads_is_one_gap() -> None:
    """Its threads are not known before it runs, and each is a value afterwards."""
    names = ("000001 a", "000002 b")
    series = tuple(Series("cpu", thread_instance(names[0], tid)) for tid in (3, 4))
    subset = Subset({"cpu": InstanceSelection(frozenset(names))})
    assert subset.expected(["cpu"]) == 2
    found = subset.of(sample((*series, Series("cpu", "000003 c:tid=5"))))
    assert set(kept(found)) == set(series)
    assert found.missing == {"cpu": Gap(ABSENT, 1)}
