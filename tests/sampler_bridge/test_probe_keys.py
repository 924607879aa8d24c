"""Probes by thread, CPU and control group, and arguments, in the kernel."""

import os
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.settings.tools import PROBER
from sampler_bridge.sources.probes.cgroup_names import CgroupNames
from sampler_bridge.sources.probes.prober import Counts, Prober
from sampling.probes.changes import checked
from sampling.probes.definition import CodeProbe, parse_target
from sampling.probes.errors import ProbeRefusedError
from sampling.sources.probe_metrics import ARGUMENT_BOUNDS
from tests.cgroup_folders import cgroup_folders
from tests.probed_program import ProbedProgram, probe_of
from tests.servers import ROOT

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may probe")

HEADER = ROOT / "sampler_bridge/sources/probes/probes.h"


@pytest.fixture
def prober() -> Iterator[Prober]:
    program = Prober(PROBER)
    yield program
    program.close()


def values(counts: Counts) -> dict[str, int]:
    """The buckets of an argument that have calls."""
    pairs = zip(ARGUMENT_BOUNDS, counts.arguments, strict=True)
    return {bound: number for bound, number in pairs if number}


def argument(target: str, which: str) -> CodeProbe:
    return checked(CodeProbe("p", parse_target(target), argument=which))[0]


def test_buckets_of_arguments_are_those_of_the_kernel() -> None:
    header = HEADER.read_text("utf-8")
    assert f"ARGUMENT_BUCKETS = {len(ARGUMENT_BOUNDS)}," in header


def test_calls_are_counted_by_thread(binary: Path, prober: Prober) -> None:
    probe = replace(probe_of(binary, "pause_ms", times=True), by="thread")
    with ProbedProgram(binary) as one, ProbedProgram(binary) as other:
        prober.attach(0, probe)
        one.call("p", 3)
        other.call("p", 5)
        (found,) = prober.read().values()
        assert {key: counts.calls for key, counts in found.keys.items()} == {
            one.pid: 3,
            other.pid: 5,
        }
        assert found.keys[one.pid].timed == 3
        assert found.keys[one.pid].nanoseconds > 3e6
    assert sum(key.nanoseconds for key in found.keys.values()) == found.nanoseconds


def test_calls_are_counted_by_cpu(binary: Path, prober: Prober) -> None:
    (last, *_) = sorted(os.sched_getaffinity(0), reverse=True)
    with ProbedProgram(binary) as program:
        os.sched_setaffinity(program.pid, {last})
        prober.attach(0, replace(probe_of(binary, "work"), by="cpu"))
        program.call("w", 7)
        (found,) = prober.read().values()
    assert {cpu: counts.calls for cpu, counts in found.keys.items()} == {last: 7}


def test_calls_are_counted_by_control_group(binary: Path, prober: Prober) -> None:
    with cgroup_folders("probed") as folders, ProbedProgram(binary) as program:
        group = folders.make("job_1")
        folders.write("job_1", "v2", "cgroup.procs", str(program.pid))
        prober.attach(0, replace(probe_of(binary, "work"), by="cgroup"))
        program.call("w", 4)
        (found,) = prober.read().values()
        names = CgroupNames().names(found.keys)
    assert {names[key]: counts.calls for key, counts in found.keys.items()} == {
        group: 4
    }


def test_threads_beyond_the_room_are_shed_and_counted(
    binary: Path, prober: Prober
) -> None:
    most = int(re.findall(r" PROBE_KEYS = (\d+)", HEADER.read_text("utf-8"))[0])
    with ProbedProgram(binary) as program:
        prober.attach(0, replace(probe_of(binary, "leaves"), by="thread"))
        program.call("q", most + 100)
        (found,) = prober.read().values()
        assert found.calls == most + 100
        assert found.unkeyed == 100
        # The threads have ended: the room is free for others.
        program.call("q", 50)
        (found,) = prober.read().values()
    assert found.unkeyed == 100
    assert len(found.keys) == 50


def test_detaching_forgets_the_keys(binary: Path, prober: Prober) -> None:
    probe = replace(probe_of(binary, "work"), by="thread")
    with ProbedProgram(binary) as program:
        prober.attach(0, probe)
        program.call("w", 2)
        prober.detach(0)
        prober.attach(0, probe)
        (found,) = prober.read().values()
        assert found.keys == {}
        program.call("w", 1)
        (found,) = prober.read().values()
    assert found.keys[program.pid].calls == 1


def test_argument_of_a_function_has_its_register_and_sign(
    binary: Path, prober: Prober
) -> None:
    """The first argument is a floating-point number and takes no register of these."""
    prober.attach(0, argument(f"uprobe:{binary}:sized", "2"))
    with ProbedProgram(binary) as program:
        program.call("s", 10)
        (found,) = prober.read().values()
    assert values(found) == {"0": 2, "1": 1, "2": 1, "4": 2, "8": 4}
    assert found.calls == 10
    assert found.unread == 0


@pytest.mark.parametrize(
    ("which", "expected"),
    [
        ("1", {"0": 2, "1": 1, "2": 1, "4": 1}),
        ("2", {"0": 1, str(1 << 40): 1, str(1 << 41): 1, str(1 << 42): 2}),
        ("3", {"0": 5}),
    ],
    ids=["register", "memory", "constant"],
)
def test_argument_of_a_usdt_probe_is_read(
    binary: Path, prober: Prober, which: str, expected: dict[str, int]
) -> None:
    prober.attach(0, argument(f"usdt:{binary}:demo:sent", which))
    with ProbedProgram(binary) as program:
        program.call("s", 5)
        (found,) = prober.read().values()
    assert values(found) == expected


def test_large_values_are_in_the_last_bucket(binary: Path, prober: Prober) -> None:
    prober.attach(0, argument(f"uprobe:{binary}:sized", "4"))
    with ProbedProgram(binary) as program:
        program.call("s", 66)
        (found,) = prober.read().values()
    assert values(found)["Inf"] == 65 - 32


def test_field_of_a_tracepoint_is_read(prober: Prober) -> None:
    event = "tracepoint:raw_syscalls:sys_exit"
    prober.attach(0, argument(event, "ret"))
    with Path("/proc/self/exe").open("rb") as file:
        thread = threading.Thread(
            target=lambda: [os.pread(file.fileno(), 3000, 0) for _ in range(50)]
        )
        thread.start()
        thread.join()
        (found,) = prober.read().values()
    assert found.arguments[ARGUMENT_BOUNDS.index("4096")] >= 50


def test_unknown_field_is_refused_and_others_named(prober: Prober) -> None:
    with pytest.raises(ProbeRefusedError, match="no field next.*it has .*next_pid"):
        prober.attach(0, argument("tracepoint:sched:sched_switch", "next"))
    assert prober.read() == {}
