"""Counters from a private PMCD: the choice of PMCD survives a bridge restart."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sampler_bridge.fleet import Fleet, SamplingSite
from sampler_bridge.sending.writer import Writer
from sampler_bridge.sources.cgroup.watch import CgroupWatch
from sampling.plan_file.graph_plan import WantedPlan
from sampling.plan_file.plan import SamplingPlan, make_plan
from tests.servers import Pmcd, wait_until

COUNTER = "perfevent.hwcounters.cycles.value"
# Names as the agent of PMU events would give them, for values of the sample agent.
NAMES = """
perfevent { hwcounters }
perfevent.hwcounters { cycles }
perfevent.hwcounters.cycles { value 29:0:3 }
"""


@pytest.fixture
def counting(tmp_path: Path) -> Iterator[Pmcd]:
    """A PMCD that is the only one to have the counter."""
    server = Pmcd(tmp_path / "counting", sample=True)
    names = server.folder / "pmns"
    with_root = names.read_text().replace("root {", "root {\n\tperfevent", 1)
    names.write_text(with_root + NAMES)
    with server:
        yield server


def plan() -> SamplingPlan:
    names = (COUNTER, "sample.milliseconds")
    rows = [{"samplerName": name, "dbName": name.replace(".", "_")} for name in names]
    return make_plan([{**row, "period": 0.05} for row in rows])


def test_counters_continue_after_a_restart_without_the_graph(
    tmp_path: Path, pmcd: Pmcd, counting: Pmcd, writer: Writer
) -> None:
    place = SamplingSite(
        "n1", pmcd.address, "http://localhost:8000", tmp_path / "s", 10**6
    )
    (tmp_path / "s/hosts").mkdir(parents=True)
    for is_first in (True, False):
        fleet = Fleet(place, writer, CgroupWatch((), 0, tmp_path))
        if is_first:
            socket = str(counting.socket)
            fleet.take(
                {n: WantedPlan(plan(), pmcd.address, socket) for n in ("n1", "n2")}
            )
        for host in fleet.hosts:
            wait_until(lambda host=host: host.figures()["fetched"] > 20)
            assert host.summary()["counters"] == counting.address
            assert host.figures()["reasons"]["unknown metric"] == 0
        assert [host.name for host in fleet.hosts] == ["n1", "n2"]
        fleet.end(5.0)
        fleet.close()
