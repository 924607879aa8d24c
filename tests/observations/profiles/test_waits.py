"""Where real programs wait, and what is said where that is not known."""

import os
from pathlib import Path

import pytest

from observations.profiles.formats import flame_graph
from observations.profiles.profile import Profile, ProfileKind, profile_of
from observations.profiles.table import profile_table
from observations.profiles.waits import Waits
from tests.observations.profiles.recorded import build, run, shares, waits

LOOP = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"
# Thread 7 computes in f until it waits in g: 1 µs, 1 µs without a stack, and 3 ms.
# Then it has to leave its CPU in f. Process 9 is ours.
LINES = (
    b"  5/7  1.000000000: context-switches: \n",
    b"\tffffffff82266833 schedule ([kernel.kallsyms])\n",
    b"\t 10 g (/opt/app)\n",
    b"\t 20 f (/opt/app)\n",
    b"\t 30 __libc_start_main@@GLIBC_2.34 (/lib/libc.so.6)\n",
    b"\n",
    b"  5/7  1.000000000: PERF_RECORD_SWITCH OUT        \n",
    b"  5/7  1.000001000: PERF_RECORD_SWITCH IN         \n",
    b"  5/7  1.000010000: PERF_RECORD_SWITCH OUT        \n",
    b"  5/7  1.000011000: PERF_RECORD_SWITCH IN         \n",
    b"  5/7  1.000020000: PERF_RECORD_SWITCH OUT        \n",
    b"  5/7  1.003020000: PERF_RECORD_SWITCH IN         \n",
    b"  5/7  2.000000000: PERF_RECORD_LOST lost 4\n",
    b"  5/7  2.100000000: context-switches: \n",
    b"\t 20 f (/opt/app)\n",
    b"\n",
    b"  9/9  2.100000000: context-switches: \n",
    b"\t 50 own (/usr/bin/python3)\n",
    b"\n",
    b"  5/7  2.100000000: PERF_RECORD_SWITCH OUT preempt\n",
    b"  9/9  2.100000001: PERF_RECORD_SWITCH OUT        \n",
    b"  5/7  2.100000500: PERF_RECORD_SWITCH IN         \n",
    b"  9/9  2.100000900: PERF_RECORD_SWITCH IN         \n",
    b"  5/7  3.000000000: PERF_RECORD_SWITCH OUT        \n",
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    return build(tmp_path_factory.mktemp("waits"), "-g", name="waits", source="waits")


@pytest.fixture(scope="module")
def profile(program: str) -> Profile:
    return waits(program)


def test_wait_without_a_stack_counts_for_those_as_long() -> None:
    found = Waits(LINES, others=[9])
    f, g = ("f", "/opt/app"), ("g", "/opt/app")
    assert found.stacks() == {
        (f, g): 2_000,
        (("[no stack]", "[unknown]"),): 3_000_000,
        (f, ("[waits for a CPU]", "[kernel]")): 500,
    }
    assert (found.count, found.sampled, found.lost) == (4, 2, 4)


def test_calls_have_the_time_that_they_wait(profile: Profile) -> None:
    assert (profile.reason, profile.kind) == ("", ProfileKind.OFF_CPU)
    seconds = {
        name: share.total * profile.waited_ns / 1e9
        for name, share in shares(profile).items()
    }
    # A busy machine wakes threads later.
    assert 0.6 <= seconds["rarely"] < 0.8
    assert 0.2 <= seconds["often"] < 0.5
    assert 0.2 <= seconds["joined"] < 0.3
    assert 0.2 <= seconds["worker"] < 0.3
    assert 205 <= profile.waits < 2_000
    # A process has no stack while its program is loaded.
    assert profile.samples > 0.98 * profile.waits
    stack = max(profile.stacks)[1]
    assert [one.name for one in stack[:3]] == ["main", "rarely", "nap"]


def test_profile_on_the_cpu_is_recorded_too(program: str) -> None:
    event = run(program, off_cpu=True)["profile"]
    found = shares(profile_of(event))
    assert found["main"].own > 0.8
    assert "perf" not in {
        one.binary.rpartition("/")[2]
        for kind in ProfileKind
        for one in profile_of(event, kind).functions()
    }


def test_many_waits_are_bounded_and_counted(tmp_path: Path) -> None:
    """It waits about 200,000 times, each with 4 KiB of stack."""
    found = waits(build(tmp_path, name="messages", source="messages"))
    assert found.reason == ""
    assert 20_000 < found.samples <= found.waits
    assert found.samples <= (256 << 20) / 4096
    assert "perf stopped at 256 MiB of waits" in found.note
    assert found.weight >= sum(ns for ns, _ in found.stacks)
    assert "[no stack]" not in shares(found) or shares(found)["[no stack]"].own < 0.5
    assert {"talk", "doze"} <= set(shares(found))


def test_waits_in_text_and_as_a_flame_graph(profile: Profile) -> None:
    text = profile_table(profile)
    assert text[0].startswith(f"off-CPU profile: {profile.waits} waits, ")
    graph = flame_graph(profile)
    assert graph["waited"] == profile.waited_ns / 1e9
    (rarely,) = [one for one in graph["calls"] if one["name"] == "rarely"]
    assert rarely["share"] == pytest.approx(shares(profile)["rarely"].total, abs=1e-5)


def test_nothing_is_left_behind(program: str, tmp_path: Path) -> None:
    events = run("sh", "-c", "kill -9 $$", off_cpu=True, env={"TMPDIR": str(tmp_path)})
    assert (events["ended"]["signal"], events["ended"]["left_behind"]) == (9, [])
    assert list(tmp_path.iterdir()) == []


def test_command_that_cannot_start_is_refused_without_leftovers(tmp_path: Path) -> None:
    env = {"TMPDIR": str(tmp_path)}
    assert set(run("/no/such/command", env=env, off_cpu=True)) == {"refused"}
    assert list(tmp_path.iterdir()) == []


def test_user_who_may_not_record_waits_keeps_the_profile_on_the_cpu() -> None:
    """Where kernel.perf_event_paranoid is 2, the kernel's usual value."""
    own = (
        {"user": 65534, "group": 65534, "extra_groups": []} if not os.geteuid() else {}
    )
    level = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    event = run("sh", "-c", LOOP, off_cpu=True, started=own)["profile"]
    assert event["reason"] == ("" if level <= 2 else event["reason"])
    reason = event["off_cpu"]["reason"]
    if level > 1:
        assert reason == (
            f"kernel.perf_event_paranoid is {level}, so perf may not sample: "
            "`sudo sysctl kernel.perf_event_paranoid=1`"
        )
    else:
        assert reason == ""
