"""An agent that renumbers its metrics: no value is stored under another metric."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.settings import tools
from sampling.agents import private_pmcd
from sampling.agents.configuration import keep_configuration
from sampling.sources.pcp_source import PcpSource
from sampling.sources.source import Sample
from tests.ports import free_port
from tests.servers import Server, wait_until

PERF = "perf::PERF_COUNT_SW_"
FEW = "perfevent.hwcounters.perf__PERF_COUNT_SW_PAGE_FAULTS_MAJ.value"
CLOCK = "perfevent.hwcounters.perf__PERF_COUNT_SW_CPU_CLOCK.value"
FIRST = f"[perf]\n{PERF}PAGE_FAULTS_MAJ\n"
# More than the major faults of a CPU in a test, less than the nanoseconds of a moment.
MANY = 1e6
# The agent numbers from the last line: another event gets the number of the first.
SECOND = f"[perf]\n{PERF}PAGE_FAULTS_MAJ\n{PERF}CPU_CLOCK\n"


class Counting(Server):
    """A PMCD for PMU events, as the supervisor runs it."""

    def start(self) -> None:
        words = private_pmcd.command(self.folder, str(tools.pmcd()), free_port())
        self.launch(list(words), **private_pmcd.environment(self.folder))
        socket = private_pmcd.socket_of(self.folder)
        self.ready(lambda: socket.exists())

    def count(self, text: str) -> None:
        """Give the agent another configuration."""
        keep_configuration(self.folder, "perfevent", text)
        os.kill(self.pid, signal.SIGHUP)


@pytest.fixture
def pmcd(tmp_path: Path) -> Iterator[Counting]:
    keep_configuration(tmp_path, "perfevent", FIRST)
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
    source = PcpSource(f"unix://{private_pmcd.socket_of(pmcd.folder)}")
    source.select(metrics)
    source.connect()
    return source


def test_values_are_not_assigned_to_another_metric(pmcd: Counting) -> None:
    source = source_of(pmcd, FEW)
    wait_until(lambda: values(source.fetch(), FEW), what="the first configuration")
    pmcd.count(SECOND)
    # Another client connects to the second agent until that has counted something.
    other = source_of(pmcd, CLOCK)
    wait_until(
        lambda: min(values(other.fetch(), CLOCK), default=0) > MANY,
        what="the second agent",
    )
    assert 0 <= max(values(source.fetch(), FEW)) < MANY
    source.select([FEW, CLOCK])
    assert 0 <= max(values(source.fetch(), FEW)) < MANY
    assert min(values(source.fetch(), CLOCK)) > MANY
    source.close()
    other.close()
