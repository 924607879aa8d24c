"""The set of probes that the bridge follows, and the bridge that stores them."""

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.settings.tools import PROBER
from sampler_bridge.sources.probes.probe_set import ProbeSet
from sampler_bridge.sources.probes.source import ProbeSource
from sampling.probes.definition import CodeProbe, save_probes
from sampling.sources.probe_metrics import (
    BOUNDS,
    CALLS,
    LATENCY,
    MISSED,
    PROBE_METRICS,
    TIME,
    TIMED,
    bucket_instance,
)
from sampling.sources.source import UNKNOWN_METRIC, Sample, Series
from tests.probed_program import ProbedProgram, compile_program, probe_of
from tests.sampler_bridge.explained import explained
from tests.sampler_bridge.servers import BridgeProcess
from tests.servers import Pmcd, VictoriaMetrics, wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may probe")

NewBridge = Callable[..., BridgeProcess]


@pytest.fixture
def probes(tmp_path: Path) -> Iterator[ProbeSet]:
    found = ProbeSet(PROBER, tmp_path / "probes.json")
    yield found
    found.close()


def listed(folder: Path, *probes: CodeProbe) -> None:
    save_probes(folder / "probes.json", {probe.name: probe for probe in probes})


def values(sample: Sample) -> dict[Series, int]:
    return {
        series: value
        for column in sample.columns
        for series, value in zip(column.series, column.values.tolist(), strict=True)
    }


def test_set_follows_the_file_while_the_program_runs(
    binary: Path, tmp_path: Path, probes: ProbeSet
) -> None:
    source = ProbeSource(probes)
    source.select([metric.name for metric in PROBE_METRICS])
    with ProbedProgram(binary) as program:
        listed(tmp_path, probe_of(binary, "work"))
        assert values(source.fetch()) == {Series(CALLS.name, "work"): 0}
        program.call("w", 3)
        time.sleep(1.1)
        listed(tmp_path, probe_of(binary, "work"), probe_of(binary, "pause_ms", True))
        found = values(source.fetch())
        # The first probe counts on.
        assert found[Series(CALLS.name, "work")] == 3
        assert found[Series(TIMED.name, "pause_ms")] == 0
        program.call("p", 2)
        found = values(source.fetch())
        assert found[Series(TIMED.name, "pause_ms")] == 2
        assert found[Series(TIME.name, "pause_ms")] > 2e6
        instances = [bucket_instance("pause_ms", bound) for bound in BOUNDS]
        assert sum(found[Series(LATENCY.name, one)] for one in instances) == 2
        time.sleep(1.1)
        listed(tmp_path)
        assert values(source.fetch()) == {}
        assert not program.is_probed()


def test_unknown_metric_of_probes_is_a_gap(probes: ProbeSet) -> None:
    source = ProbeSource(probes)
    source.select(["supertwin.probe.nothing"])
    assert source.fetch().missing["supertwin.probe.nothing"].cause == UNKNOWN_METRIC


def test_replaced_binary_is_named_and_its_probe_stopped(
    binary: Path, tmp_path: Path, probes: ProbeSet
) -> None:
    source = ProbeSource(probes)
    source.select([CALLS.name, MISSED.name])
    listed(tmp_path, probe_of(binary, "work"), probe_of(binary, "pause_ms"))
    assert len(values(source.fetch())) == 2
    compile_program(tmp_path / "new", "-DOTHER", "-O1")
    (tmp_path / "new").replace(binary)
    time.sleep(1.1)
    sample = source.fetch()
    assert not values(sample)
    gap = sample.missing[CALLS.name]
    assert gap.points == 2
    assert "binary replaced" in gap.cause.detail
    assert "build id" in gap.cause.detail
    assert "binary replaced" in probes.document()["work"]


def test_same_binary_in_a_new_file_is_probed_again(
    binary: Path, tmp_path: Path, probes: ProbeSet
) -> None:
    listed(tmp_path, probe_of(binary, "work"))
    probes.read()
    shutil.copy(binary, tmp_path / "new")
    (tmp_path / "new").replace(binary)
    time.sleep(1.1)
    assert probes.read()
    with ProbedProgram(binary) as program:
        program.call("w", 4)
    ((_, counts),) = probes.read()
    assert counts.calls == 4


def test_probe_that_costs_too_much_is_stopped(
    binary: Path, tmp_path: Path, probes: ProbeSet
) -> None:
    listed(tmp_path, replace(probe_of(binary, "work"), percent=0.01))
    probes.read()
    time.sleep(1.1)
    probes.read()
    with ProbedProgram(binary) as program:
        program.call("w", 100_000)
        time.sleep(1.1)
        assert probes.read() == []
        assert not program.is_probed()
    assert "more than 0.01 %" in probes.reasons()["work"]


def test_damaged_file_is_a_reason_for_all(tmp_path: Path, probes: ProbeSet) -> None:
    (tmp_path / "probes.json").write_text("[", "utf-8")
    assert probes.read() == []


def test_bridge_stores_the_latencies(
    binary: Path, pmcd: Pmcd, store: VictoriaMetrics, new_bridge: NewBridge
) -> None:
    bridge = new_bridge(pmcd.address, store.url, prober=str(PROBER))
    timed, counted = probe_of(binary, "pause_ms", True), probe_of(binary, "work")
    listed(bridge.state, timed, counted)
    bridge.sample([CALLS.name, LATENCY.name], 0.2)
    states = {"pause_ms": "attached", "work": "attached"}
    with ProbedProgram(binary) as program:
        wait_until(lambda: bridge.process()["probes"] == states)
        program.call("p", 50)
        wait_until(lambda: stored_latencies(store) == 50)
        for instance in ("work", "unknown"):
            found = explained(bridge, CALLS.name, instance=instance)
            assert ("no probe of 'n1' has the name" in found.reason) == (
                instance == "unknown"
            )
        assert program.is_probed()
        bridge.end(signal.SIGKILL)
        wait_until(lambda: not program.is_probed())


def test_why_names_the_replaced_binary(
    binary: Path, pmcd: Pmcd, store: VictoriaMetrics, new_bridge: NewBridge
) -> None:
    bridge = new_bridge(pmcd.address, store.url, prober=str(PROBER))
    listed(bridge.state, probe_of(binary, "work"))
    bridge.sample([CALLS.name], 0.2)
    wait_until(lambda: bridge.process()["probes"] == {"work": "attached"})
    compile_program(binary.with_name("new"), "-O1")
    binary.with_name("new").replace(binary)
    wait_until(lambda: "replaced" in bridge.process()["probes"]["work"])
    found = explained(bridge, CALLS.name, instance="work")
    assert found.verdict == "no value"
    assert "binary replaced" in found.reason


def stored_latencies(store: VictoriaMetrics) -> float:
    """The calls in all buckets."""
    name = LATENCY.name.replace(".", "_")
    found = store.values(f'{{__name__="{name}",hostname="n1"}}')
    return sum(points[max(points)] for points in found.values())
