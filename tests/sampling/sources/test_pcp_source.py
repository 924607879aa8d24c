"""PCP as a source: its values, its reasons for missing ones, and outages."""

import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest

from sampling.account.reasons import GapCause, GapReason
from sampling.errors import SourceDownError
from sampling.sources.pcp_source import PcpSource
from sampling.sources.source import NO_VALUE, UNKNOWN_METRIC, Sample, Series
from tests.servers import Pmcd, wait_until


def values(sample: Sample) -> dict[Series, float]:
    return {
        series: value
        for column in sample.columns
        for series, value in zip(column.series, column.values.tolist(), strict=True)
    }


def test_each_type_has_its_number_type(source: PcpSource) -> None:
    source.select(
        [
            "sample.negative.instant.m_32",
            "sample.ulong.million",
            "sample.negative.instant.m_64",
            "sample.ulonglong.million",
            "sample.float.million",
            "sample.double.million",
        ]
    )
    sample = source.fetch()
    assert [column.values.dtype.name for column in sample.columns] == [
        *("int64", "uint64", "float32", "float64")
    ]
    assert sample.points == sample.expected == 6
    assert values(sample)[Series("sample.ulong.million", None)] == 1_000_000
    assert values(sample)[Series("sample.negative.instant.m_32", None)] < 0


def not_stored(what: str) -> GapCause:
    return GapCause(GapReason.NOT_STORED, f"{what} are not stored")


def test_metric_without_a_number_is_a_gap_with_its_reason(source: PcpSource) -> None:
    source.select(
        [
            "no.such.metric",
            "sample.aggregate.hullo",
            "sample.event.records",
            "sample.bad.novalues",
            "swap.in",
            "sample.long.one",
        ]
    )
    sample = source.fetch()
    unsupported = "Metric not supported by this version of monitored application"
    assert {metric: gap.cause for metric, gap in sample.missing.items()} == {
        "no.such.metric": UNKNOWN_METRIC,
        "sample.aggregate.hullo": not_stored("aggregates"),
        "sample.event.records": not_stored("events"),
        "sample.bad.novalues": NO_VALUE,
        "swap.in": GapCause(GapReason.UNSUPPORTED, unsupported),
    }
    assert values(sample) == {Series("sample.long.one", None): 1}
    assert sample.expected == 6


def test_changing_instances_keep_their_names(pmcd: Pmcd, source: PcpSource) -> None:
    source.select(["sample.many.int", "sample.bin"])
    for count in (3, 7, 2):
        pmcd.store("sample.many.count", str(count))
        found = values(source.fetch())
        many = {s.instance: v for s, v in found.items() if s.metric.endswith("int")}
        assert many == {f"i-{at}": at for at in range(count)}
        assert len(found) == count + 9


def test_series_stay_the_same_object_while_nothing_changes(
    source: PcpSource,
) -> None:
    source.select(["kernel.all.load", "no.such.metric"])
    first, second = source.fetch(), source.fetch()
    assert first.columns[0].series is second.columns[0].series


@pytest.mark.serial
def test_sample_keeps_the_values_of_its_fetch(source: PcpSource) -> None:
    """Even if later fetches come first and another thread reads the sample."""
    source.select(["sample.milliseconds"])
    samples, moments = [], []
    for _ in range(3):
        began = time.monotonic()
        samples.append(source.fetch())
        moments.append((began, time.monotonic()))
        time.sleep(0.2)
    with ThreadPoolExecutor(1) as other:
        clocks = [
            *other.map(lambda sample: next(iter(values(sample).values())), samples)
        ]
    for (clock, later), (moment, next_moment) in zip(
        pairwise(clocks), pairwise(moments), strict=True
    ):
        least, most = next_moment[0] - moment[1], next_moment[1] - moment[0]
        # The clock of the agent counts whole milliseconds.
        assert least - 0.01 < (later - clock) / 1000 < most + 0.01


def test_new_processes_are_named_immediately(source: PcpSource) -> None:
    source.select(["proc.psinfo.rss", "proc.psinfo.vsize"])
    wait_until(lambda: values(source.fetch()), what="the agent of processes")
    before = values(source.fetch())
    with subprocess.Popen(["sleep", "60"]) as process:
        wait_until(lambda: Path(f"/proc/{process.pid}/comm").read_text() == "sleep\n")
        found = values(source.fetch())
        process.kill()
    name = f"{process.pid:06d} sleep"
    for metric in ("proc.psinfo.rss", "proc.psinfo.vsize"):
        assert Series(metric, name) not in before
        assert found[Series(metric, name)] > 0
    assert Series("proc.psinfo.rss", name) not in values(source.fetch())


def test_failing_metric_misses_its_previous_number_of_points(
    pmcd: Pmcd, source: PcpSource
) -> None:
    source.select(["sample.many.int"])
    pmcd.store("sample.many.count", "5")
    assert source.fetch().points == 5
    pmcd.store("sample.many.count", "0")
    assert source.fetch().missing["sample.many.int"].points == 5


@pytest.mark.parametrize("connected", [True, False])
def test_dead_agent_is_a_gap_until_pmcd_restarts_it(
    tmp_path: Path, connected: bool
) -> None:
    pmcd = Pmcd(tmp_path / "own", sample=True)
    source = PcpSource(pmcd.address)
    source.select(["sample.long.one", "kernel.all.load", "no.such.metric"])
    try:
        pmcd.start()
        if connected:
            source.connect()
            assert source.fetch().points == 4
        pmcd.kill_agents()
        # If PMCD notices an agent's end after restarting the others, it waits a minute.
        wait_until(lambda: points(source) == 4, 90)
        assert set(source.fetch().missing) == {"no.such.metric"}
    finally:
        source.close()
        pmcd.clean()


def points(source: PcpSource) -> int:
    """Number of values of a fetch, reconnecting if necessary; 0 without PMCD."""
    try:
        if not source.connected:
            source.connect()
        return source.fetch().points
    except SourceDownError:
        return 0


def test_outage_is_an_error_until_connect_works_again(tmp_path: Path) -> None:
    pmcd = Pmcd(tmp_path / "own", sample=True)
    source = PcpSource(pmcd.address)
    source.select(["sample.long.one"])
    with pytest.raises(SourceDownError, match="check that it runs"):
        source.connect()
    try:
        pmcd.start()
        source.connect()
        assert source.fetch().points == 1
        pmcd.end(9)
        with pytest.raises(SourceDownError):
            source.fetch()
        assert not source.connected
        with pytest.raises(SourceDownError):
            source.fetch()
        pmcd.start()
        source.connect()
        assert source.fetch().points == 1
    finally:
        source.close()
        pmcd.clean()
