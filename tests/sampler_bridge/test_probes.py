"""Probes in the kernel: exact counts, limits, refusals, and nothing left behind."""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import get_native_id

import pytest
from elftools.elf.elffile import ELFFile

from core.settings.tools import PROBER
from sampler_bridge.sources.probes.prober import Prober
from sampler_bridge.sources.probes.trial import measured_rate
from sampling.probes.changes import checked
from sampling.probes.definition import CodeProbe, parse_target
from sampling.probes.errors import ProbeRefusedError
from sampling.sources.probe_metrics import (
    BOUNDS,
)
from tests.probed_program import ProbedProgram, probe_of
from tests.sampler_bridge.servers import BridgeProcess
from tests.servers import ENDS_WITH_US, ROOT, wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may probe")

FOLDER = ROOT / "sampler_bridge" / "sources" / "probes"
ONLY_RIGHTS = f"{3 << 38 | 1 << 21:016x}"  # CAP_PERFMON, CAP_BPF, CAP_SYS_ADMIN
SOURCES = ("probes.c", "rights.c", "keys.c", "forms.c")
NewBridge = Callable[..., BridgeProcess]


@pytest.fixture
def prober() -> Iterator[Prober]:
    program = Prober(PROBER)
    yield program
    program.close()


def pair(binary: Path) -> CodeProbe:
    begin, end = (parse_target(f"usdt:{binary}:demo:{n}") for n in ("begin", "end"))
    return checked(CodeProbe("marked", begin, True, end))[0]


def test_object_was_compiled_from_its_sources() -> None:
    """After a change, `make bpf` compiles it again."""
    sources = [(FOLDER / name).read_bytes() for name in ("probes.bpf.c", "probes.h")]
    digest = hashlib.sha256(b"".join(sources)).hexdigest()
    assert digest.encode() in (FOLDER / "probes.bpf.o").read_bytes()


def test_buckets_are_those_of_the_kernel() -> None:
    header = (FOLDER / "probes.h").read_text("utf-8")
    assert f"BUCKETS = {len(BOUNDS)}," in header
    assert f"FIRST_BUCKET_NS = {BOUNDS[0]}," in header


def test_calls_are_counted_exactly(binary: Path, prober: Prober) -> None:
    with ProbedProgram(binary) as program:
        prober.attach(0, probe_of(binary, "work"))
        prober.attach(1, pair(binary))
        program.call("w", 1000)
        program.call("m", 10)
        found = prober.read()
    assert found[0].calls == 1010
    assert found[0].timed == 0
    assert found[1].calls == found[1].timed == sum(found[1].buckets) == 10


def test_latencies_are_those_of_the_calls(binary: Path, prober: Prober) -> None:
    with ProbedProgram(binary) as program:
        prober.attach(0, probe_of(binary, "pause_ms", times=True))
        began = time.monotonic_ns()
        program.call("p", 20)
        took = time.monotonic_ns() - began
        (found,) = prober.read().values()
    assert found.timed == sum(found.buckets) == 20
    assert 20e6 <= found.nanoseconds <= took
    short = [bound for bound in BOUNDS[:-1] if int(bound) < 1e6]
    assert not any(found.buckets[: len(short)])


def test_function_that_calls_itself_is_timed_once(binary: Path, prober: Prober) -> None:
    with ProbedProgram(binary) as program:
        prober.attach(0, probe_of(binary, "nested", times=True))
        program.call("n", 7)
        (found,) = prober.read().values()
    assert (found.calls, found.timed, found.missed) == (70, 7, 0)


def test_call_that_ends_by_longjmp_is_missed_and_later_calls_timed(
    binary: Path, prober: Prober
) -> None:
    with ProbedProgram(binary) as program:
        prober.attach(0, probe_of(binary, "leaves", times=True))
        program.call("j", 3)
        program.call("l", 10)
        (found,) = prober.read().values()
    assert (found.calls, found.timed, found.missed) == (13, 10, 3)


def test_threads_that_end_in_calls_take_no_room(binary: Path, prober: Prober) -> None:
    """Several probes, as there are only 32,768 numbers of threads."""
    room = re.search(r"STARTED = (\d+)", (FOLDER / "probes.h").read_text("utf-8"))
    assert room
    threads = int(room[1]) // 3 + 2000
    probe = replace(probe_of(binary, "leaves", times=True), limit=threads)
    with ProbedProgram(binary) as program:
        for number in range(3):
            prober.attach(number, probe)
        program.call("q", threads)
        program.call("l", 100)
        for found in prober.read().values():
            assert (found.calls, found.timed) == (threads + 100, 100)
            assert found.shed == 0


def test_call_that_runs_during_a_change_does_not_hide_later_ones(
    binary: Path, prober: Prober
) -> None:
    probe = probe_of(binary, "leaves", times=True)
    with ProbedProgram(binary) as program:
        prober.attach(0, probe)
        program.say("r 1")
        wait_until(lambda: prober.read()[0].calls == 1)
        prober.detach(0)
        prober.attach(0, probe)
        program.say("x")
        program.wait()
        program.call("l", 10)
        (found,) = prober.read().values()
    assert (found.calls, found.timed) == (10, 10)


def test_tracepoint_pairs_are_timed(prober: Prober) -> None:
    begin, end = (
        parse_target(f"tracepoint:raw_syscalls:sys_{name}")
        for name in ("enter", "exit")
    )
    prober.attach(0, CodeProbe("calls", begin, True, end))
    for _ in range(100):
        os.getppid()
    (found,) = prober.read().values()
    assert found.timed >= 100
    assert found.calls - found.timed < 1000  # those that still wait


def test_calls_beyond_the_limit_are_shed_and_counted(
    binary: Path, prober: Prober
) -> None:
    probe = replace(probe_of(binary, "work", times=True), limit=10)
    with ProbedProgram(binary) as program:
        prober.attach(0, probe)
        program.call("w", 20_000)
        (found,) = prober.read().values()
    assert found.calls == 20_000
    assert found.shed > 10_000
    assert found.timed + found.shed == found.calls
    assert found.missed == 0


def test_detaching_forgets_and_restores_the_code(binary: Path, prober: Prober) -> None:
    with ProbedProgram(binary) as program:
        prober.attach(3, probe_of(binary, "work"))
        program.call("w", 5)
        assert program.is_probed()
        prober.detach(3)
        assert not program.is_probed()
        assert prober.read() == {}
        prober.attach(3, probe_of(binary, "work"))
        assert prober.read()[3].calls == 0


def test_nothing_stays_attached_after_a_kill(binary: Path) -> None:
    prober = Prober(PROBER)
    with ProbedProgram(binary) as program:
        prober.attach(0, probe_of(binary, "work"))
        program.call("w", 1)
        assert program.is_probed()
        os.kill(prober.pid, signal.SIGKILL)
        wait_until(lambda: not program.is_probed())
        with pytest.raises(ProbeRefusedError, match="failed"):
            prober.read()
    prober.close()


def test_program_outlives_the_thread_that_started_it() -> None:
    """Threads of samplers end when a plan changes."""
    with ThreadPoolExecutor(1) as pool:
        thread = Path("/proc/self/task") / str(pool.submit(get_native_id).result())
        prober = pool.submit(Prober, PROBER).result()
    wait_until(lambda: not thread.exists())
    try:
        assert prober.read() == {}
    finally:
        prober.close()


_READER = """
import sys
from pathlib import Path
from sampler_bridge.sources.probes.prober import Prober
from tests.probed_program import probe_of
prober = Prober(Path(sys.argv[1]))
prober.attach(0, probe_of(Path(sys.argv[2]), "work"))
print("attached", flush=True)
sys.stdin.read()
"""


def test_nothing_stays_attached_after_a_kill_of_the_reader(binary: Path) -> None:
    """As after `kill -9` of the bridge: the program's standard input is closed."""
    reader = subprocess.Popen(
        [*ENDS_WITH_US, sys.executable, "-c", _READER, str(PROBER), str(binary)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with ProbedProgram(binary) as program, reader:
        assert reader.stdout
        assert reader.stdout.readline() == b"attached\n"
        assert program.is_probed()
        reader.kill()
        wait_until(lambda: not program.is_probed())


def test_program_keeps_three_rights(prober: Prober) -> None:
    status = Path(f"/proc/{prober.pid}/status").read_text("utf-8")
    assert f"CapPrm:\t{ONLY_RIGHTS}\n" in status
    assert f"CapEff:\t{ONLY_RIGHTS}\n" in status
    assert "NoNewPrivs:\t1\n" in status


@pytest.mark.parametrize(
    ("lost", "reason"),
    [("bpf", "CAP_BPF and CAP_PERFMON"), ("perfmon", "CAP_BPF and CAP_PERFMON")],
)
def test_missing_right_is_named(tmp_path: Path, lost: str, reason: str) -> None:
    path = without(tmp_path, lost)
    with pytest.raises(ProbeRefusedError, match=reason):
        Prober(path)


def test_functions_need_one_more_right(tmp_path: Path, binary: Path) -> None:
    prober = Prober(without(tmp_path, "sys_admin"))
    try:
        with pytest.raises(ProbeRefusedError, match="needs CAP_SYS_ADMIN"):
            prober.attach(0, probe_of(binary, "work"))
    finally:
        prober.close()


def without(folder: Path, right: str) -> Path:
    """The program without a capability."""
    path = folder / "without-rights"
    path.write_text(
        f"#!/bin/sh\nexec setpriv --bounding-set=-{right} {PROBER}\n", "utf-8"
    )
    path.chmod(0o755)
    return path


def test_absence_of_the_program_has_a_cure(tmp_path: Path) -> None:
    with pytest.raises(ProbeRefusedError, match="`apt install gcc"):
        Prober(tmp_path / "none")


def test_refusal_of_the_verifier_is_in_words(tmp_path: Path) -> None:
    """The first instruction reads a register that has no value."""
    for name in (*SOURCES, "probes.h", "program.h"):
        shutil.copy(FOLDER / name, tmp_path)
    content = bytearray((FOLDER / "probes.bpf.o").read_bytes())
    with (FOLDER / "probes.bpf.o").open("rb") as file:
        at = ELFFile(file).get_section_by_name("uprobe")["sh_offset"]
    content[at : at + 8] = bytes([0xBF, 0x90, 0, 0, 0, 0, 0, 0])  # r0 = r9
    (tmp_path / "probes.bpf.o").write_bytes(content)
    words = ["cc", "-O2", f"-Wa,-I{tmp_path}", "-o", "broken", *SOURCES, "-lbpf"]
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
    with pytest.raises(ProbeRefusedError, match="verifier refuses .*R9 !read_ok"):
        Prober(tmp_path / "broken")


def test_unknown_tracepoint_is_refused_and_leaves_nothing(prober: Prober) -> None:
    probe = CodeProbe("p", parse_target("tracepoint:sched:sched_swich"))
    with pytest.raises(ProbeRefusedError, match="no such tracepoint"):
        prober.attach(0, probe)
    assert prober.read() == {}


def test_rate_is_measured_before_consent(binary: Path) -> None:
    assert measured_rate(PROBER, probe_of(binary, "work"), 1e6) == 0
    event = CodeProbe("p", parse_target("tracepoint:sched:sched_switch"))
    assert measured_rate(PROBER, event, 1e9) > 1
