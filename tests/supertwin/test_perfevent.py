"""What stands in the way of counting, before anything is changed."""

from pathlib import Path

import pytest

from sampler_bridge.perfevent.choice import Choice, Counted
from sampler_bridge.perfevent.event import Event
from sampler_bridge.perfevent.host import HostPmus
from supertwin.errors import MendableError, SuperTwinError
from supertwin.perfevent import Prepared, apply, check_permission, our_pmcd
from supertwin.settings import Settings
from supertwin.state import ChildState, StackState
from tests.supertwin.conftest import run

ONE = (Counted(Event("msr", "tsc", kernel=True), "device"),)


def prepared(host: str, counted: tuple[Counted, ...] = ONE) -> Prepared:
    return Prepared(HostPmus(host, {}), Choice(host, counted), "[perf]\n")


def test_only_root_counts_whole_cpus_unless_all_may() -> None:
    for level, user in ((2, 0), (0, 1000), (-1, 1000)):
        check_permission(level, user)
    with pytest.raises(MendableError, match="sysctl kernel.perf_event_paranoid=0"):
        check_permission(1, 1000)


def test_without_a_stack_there_is_nobody_to_configure(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, host="h")
    with pytest.raises(MendableError, match="the stack is not running"):
        apply(settings, prepared("h"), print)


def test_a_pmcd_of_somebody_else_is_left_alone() -> None:
    state = StackState(1, 0.0, "running", pmcd="unix:///run/pcp/pmcd.socket")
    with pytest.raises(MendableError, match="is not ours to configure: set SUPERTWIN"):
        our_pmcd(state)
    state.children["pmcd"] = ChildState(pid=7, state="waiting", reason="it was killed")
    with pytest.raises(SuperTwinError, match="our PMCD is waiting: it was killed"):
        our_pmcd(state)
    state.children["pmcd"].state = "healthy"
    assert our_pmcd(state) == 7


def test_a_graph_that_is_away_is_one_line(env: dict[str, str]) -> None:
    done = run(env, "perfevent", "show", "--role", "FLOPs")
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1
    assert env["SUPERTWIN_FUSEKI_PORT"] in done.stderr
