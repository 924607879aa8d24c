"""What prevents counting, checked before anything is changed."""

from pathlib import Path

import pytest

from core.errors import NotRunningError
from core.settings.settings import Settings
from core.settings.state import ChildState, StackState
from sampling.counters.local import counting_locally, counting_process
from sampling.counters.perfevent import CountingSetup
from sampling.errors import NoPmcdError, PerfeventError, SourceDownError
from sampling.events.choice import EventSelection, SelectedEvent
from sampling.events.event import PmuEvent
from sampling.events.host import HostPmus
from tests.command_line import run

ONE = SelectedEvent(PmuEvent("msr", "tsc", kernel=True), "device")


def test_configuration_needs_a_running_stack(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, host="h")
    prepared = CountingSetup(HostPmus("h", {}), EventSelection("h", (ONE,)), "[perf]\n")
    with (
        pytest.raises(NotRunningError),
        counting_locally(settings, prepared, print),
    ):
        pass
    assert not list(tmp_path.iterdir())


def test_stack_without_events_has_no_configuration() -> None:
    state = StackState(1, 0.0, "running", pmcd="unix:///run/pcp/pmcd.socket")
    with pytest.raises((PerfeventError, NoPmcdError)):
        counting_process(state)
    state.children["pmu"] = ChildState(pid=7, state="waiting", reason="it was killed")
    with pytest.raises(SourceDownError, match=r"waiting \(it was killed\)"):
        counting_process(state)
    state.children["pmu"].state = "healthy"
    assert counting_process(state) == 7


def test_unreachable_graph_store_gives_one_line(env: dict[str, str]) -> None:
    done = run(env, "perfevent", "show", "--role", "FLOPs")
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1
    assert env["SUPERTWIN_FUSEKI_PORT"] in done.stderr
