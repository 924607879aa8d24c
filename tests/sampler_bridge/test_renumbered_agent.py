"""An agent that numbers its metrics anew: no value becomes another metric's."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from sampler_bridge.pcp_source import PcpSource
from sampler_bridge.source import Sample
from supertwin import counting_pmcd, tools
from tests.servers import Server, free_port, wait_until

ZERO = "perfevent.hwcounters.software.alignment_faults.value"
TSC = "perfevent.hwcounters.msr.tsc.value"
# On x86 the processor aligns by itself, so this one stays at 0.
FIRST = "[perf]\n\n[dynamic]\nsoftware.alignment-faults\n"
# What was first is second now, and has the number that nobody had.
SECOND = "[perf]\n\n[dynamic]\nmsr.tsc\nsoftware.alignment-faults\n"


class Counting(Server):
    """A PMCD for PMU events, as the supervisor runs it."""

    def start(self) -> None:
        words = counting_pmcd.command(self.folder, str(tools.pmcd()), free_port())
        self.launch(list(words), **counting_pmcd.environment(self.folder))
        socket = counting_pmcd.socket_of(self.folder)
        self.ready(lambda: socket.exists())

    def count(self, text: str) -> None:
        """Let the agent have another configuration."""
        counting_pmcd.keep_configuration(self.folder, text)
        os.kill(self.pid, signal.SIGHUP)


@pytest.fixture
def pmcd(tmp_path: Path) -> Iterator[Counting]:
    counting_pmcd.keep_configuration(tmp_path, FIRST)
    with Counting(tmp_path) as server:
        yield server


def values(sample: Sample, metric: str) -> list[float]:
    return [
        float(value)
        for column in sample.columns
        for series, value in zip(column.series, column.values, strict=True)
        if series.metric == metric
    ]


def source_of(pmcd: Counting, *metrics: str) -> PcpSource:
    source = PcpSource(f"unix://{counting_pmcd.socket_of(pmcd.folder)}")
    source.select(metrics)
    source.connect()
    return source


def test_no_value_becomes_another_metric_s(pmcd: Counting) -> None:
    source = source_of(pmcd, ZERO)
    wait_until(lambda: values(source.fetch(), ZERO), what="the first configuration")
    pmcd.count(SECOND)
    # Somebody else meets the second agent, until it has counted something.
    other = source_of(pmcd, TSC)
    wait_until(lambda: sum(values(other.fetch(), TSC)) > 0, what="the second agent")
    assert set(values(source.fetch(), ZERO)) == {0.0}
    source.select([ZERO, TSC])
    assert set(values(source.fetch(), ZERO)) == {0.0}
    assert min(values(source.fetch(), TSC)) > 0
    source.close()
    other.close()
