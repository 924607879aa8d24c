"""The fleet in this process: a host that breaks, damaged files, sockets."""

import stat
import time
from pathlib import Path
from typing import Any

import pytest

from sampler_bridge.fleet import Fleet, SamplingSite
from sampler_bridge.plan_watch import PlanReadStatus, load_addresses, save_addresses
from sampler_bridge.sampled_host import SampledHost
from sampler_bridge.sending.writer import Writer
from sampler_bridge.sources.cgroup.watch import CgroupWatch
from sampler_bridge.transport.sockets import sockets_folder
from sampler_bridge.worker import Worker
from sampling.account.absence import STOPPED, AbsenceTracker
from sampling.account.cost import ClockSkew, TickOffset
from sampling.plan_file.graph_plan import WantedPlan
from sampling.plan_file.plan import SamplingPlan
from tests.disk import fill, small_disk
from tests.servers import wait_until

NOBODY = "unix:///nowhere"


def no_cgroups(state: Path) -> CgroupWatch:
    """A control-group watch that is not started: these tests watch no groups."""
    return CgroupWatch((), 0, state)


def place(state: Path) -> SamplingSite:
    return SamplingSite("n1", NOBODY, "http://localhost:8000", state, 10**6)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_host_with_a_broken_part_is_restarted_alone(
    tmp_path: Path, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_up = SampledHost._take_up
    faults = ["a fault"]

    def breaks_once(host: SampledHost, wanted: WantedPlan) -> None:
        if host.name == "n2" and faults:
            raise RuntimeError(faults.pop())
        take_up(host, wanted)

    monkeypatch.setattr(SampledHost, "_take_up", breaks_once)
    monkeypatch.setattr("sampler_bridge.fleet._TRY_AGAIN_SECONDS", 0.0)
    fleet = Fleet(place(tmp_path), writer, no_cgroups(tmp_path))
    fleet.take({"n1": WantedPlan(), "n2": WantedPlan(address=NOBODY)})
    first, broken = fleet.hosts
    wait_until(lambda: broken.has_ended)
    fleet.restart_broken()
    assert [host.name for host in fleet.hosts] == ["n1", "n2"]
    assert fleet.hosts[0] is first and fleet.hosts[1] is not broken
    assert all(host.alive for host in fleet.hosts)
    fleet.end(1.0)
    fleet.close()


def test_unreachable_host_has_a_reason(tmp_path: Path, writer: Writer) -> None:
    fleet = Fleet(place(tmp_path), writer, no_cgroups(tmp_path))
    wanted = {
        "file": WantedPlan(),
        "option": WantedPlan(address="ssh://-oProxyCommand=x"),
        "web": WantedPlan(address="http://n4"),
        "..": WantedPlan(address=NOBODY),
        "good": WantedPlan(address=NOBODY),
    }
    fleet.take(wanted)
    assert [host.name for host in fleet.hosts] == ["good", "n1"]
    found = fleet.unreached
    assert found.keys() == {"file", "option", "web", ".."}
    assert "`supertwin add ssh://" in found["file"]
    assert "is not an address of a host" in found["option"]
    assert "does not begin with ssh://" in found["web"]
    assert load_addresses(tmp_path / "hosts.json") == {"good": NOBODY}
    fleet.end(1.0)
    fleet.close()


@pytest.mark.parametrize("text", ["{", "[]", '{"format": "x", "hosts": {}}', "\0"])
def test_damaged_list_of_hosts_keeps_the_local_host(
    tmp_path: Path, writer: Writer, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "hosts.json").write_text(text)
    fleet = Fleet(place(tmp_path), writer, no_cgroups(tmp_path))
    assert [host.name for host in fleet.hosts] == ["n1"]
    assert "is not a list of hosts" in caplog.text
    fleet.end(1.0)
    fleet.close()


def test_invalid_saved_address_does_not_stop_the_start(
    tmp_path: Path, writer: Writer
) -> None:
    save_addresses(tmp_path / "hosts.json", {"a": "ssh://-x", "b": NOBODY})
    (tmp_path / "hosts").mkdir()
    (tmp_path / "hosts/c").write_text("no folder")
    fleet = Fleet(place(tmp_path), writer, no_cgroups(tmp_path))
    assert [host.name for host in fleet.hosts] == ["b", "n1"]
    fleet.end(1.0)
    fleet.close()


class Idle(Worker):
    """Its thread starts between two questions, as another thread may start it."""

    started_while_asked = False

    @property
    def alive(self) -> bool:
        was_alive = super().alive
        if not self.started_while_asked:
            self.started_while_asked = True
            self.start()
        return was_alive

    def _work(self) -> None:
        pass


def test_starting_thread_does_not_look_dead() -> None:
    worker = Idle("idle")
    assert not worker.has_died and not worker.alive
    wait_until(lambda: worker.has_died)


def test_unwritable_status_does_not_stop_counting(
    tmp_path: Path, writer: Writer, caplog: pytest.LogCaptureFixture
) -> None:
    with small_disk(tmp_path / "disk", 1024) as disk:
        fleet = Fleet(place(disk), writer, no_cgroups(disk))
        (own,) = fleet.hosts
        for _ in range(2):
            fleet.write_status(PlanReadStatus())
        status, counted = own.folder / "status.json", own.folder / "counted.json"
        before = status.read_text()
        fill(disk)
        refused = {f"metric.{at}": "it has no value of this kind" for at in range(2000)}
        fleet.take({"n1": WantedPlan(SamplingPlan(refused=refused))})
        wait_until(lambda: "plan.json cannot be written" in caplog.text)
        fleet.end(1.0)
        now = time.time()
        fleet.write_status(PlanReadStatus(), stopped=now)
        assert status.read_text() == before
        absence = AbsenceTracker(counted, now + 5.0).absence
        assert absence is not None
        assert absence.reason == STOPPED and absence.since >= round(now, 3)
        fleet.close()


def test_sockets_are_in_a_private_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = tmp_path / "t"
    usual.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(usual))
    folder = sockets_folder(tmp_path)
    short = folder.parent in (usual, Path("/tmp"))
    assert short and stat.S_IMODE(folder.stat().st_mode) == 0o700
    (folder / "1p").write_text("left by one that was killed")
    assert sockets_folder(tmp_path) == folder
    assert list(folder.iterdir()) == []
    folder.chmod(0o755)
    other = sockets_folder(tmp_path)
    assert other != folder and stat.S_IMODE(other.stat().st_mode) == 0o700
    folder.rmdir()
    folder.write_text("anybody's")
    third = sockets_folder(tmp_path)
    assert third != folder and stat.S_IMODE(third.stat().st_mode) == 0o700
    folder.unlink()
    for made in (other, third):
        made.rmdir()


def test_missing_socket_folder_is_reported_until_it_exists(
    tmp_path: Path, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sampler_bridge.fleet._TRY_AGAIN_SECONDS", 0.0)
    monkeypatch.setattr("tempfile.tempdir", "/nowhere")
    address = "ssh://no-such-host.invalid"
    (tmp_path / "hosts/n2").mkdir(parents=True)
    save_addresses(tmp_path / "hosts.json", {"n2": address})
    fleet = Fleet(place(tmp_path), writer, no_cgroups(tmp_path))
    for wanted in (None, {"n2": WantedPlan(address=address)}):
        if wanted:
            fleet.take(wanted)
        assert "no folder for sockets can be made" in fleet.unreached["n2"]
        fleet.restart_broken()
        assert "make room" in fleet.unreached["n2"]
    monkeypatch.setattr("tempfile.tempdir", None)
    fleet.restart_broken()
    assert fleet.unreached == {}
    n2 = fleet.hosts[1]
    wait_until(lambda: n2.summary()["address"] == address)
    assert n2.alive
    fleet.end(1.0)
    fleet.close()


def test_offsets_are_from_the_nearest_tick() -> None:
    offset = TickOffset()
    assert offset.figures() == {}
    for at in (10.0, 10.25, 11.9, 12.01):
        offset.add(at, 1.0)
    found: dict[str, Any] = offset.figures()
    assert found == pytest.approx({"last": 0.01, "p50": 0.1, "p95": 0.25, "max": 0.25})


def test_clock_offset_uses_the_quickest_answer() -> None:
    clock = ClockSkew()
    assert clock.figures() is None
    now = time.time()
    clock.add(now + 5.0 + 0.9, now, 1.0)
    clock.add(now + 5.0 + 0.01, now, 0.02)
    found = clock.figures()
    assert found == pytest.approx({"ahead": 5.0, "uncertainty": 0.01}, abs=1e-5)
