"""The kernel as a source of processes: rights, faults, and the bridge that uses it."""

import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from core.linux.priority import REALTIME, attainable, priority_of
from core.settings.tools import PROCESS_READER
from sampler_bridge.errors import KernelRefusedError
from sampler_bridge.sources.processes.access import find_access
from sampler_bridge.sources.processes.program import ProcessProgram
from sampler_bridge.sources.processes.source import ProcessSource
from sampling.account.reasons import GapReason
from sampling.account.status_lines import read_sampled, sampled_lines
from sampling.errors import SourceDownError
from sampling.sources.source import UNKNOWN_METRIC, SampleColumn, Series
from tests.sampler_bridge.explained import explained
from tests.sampler_bridge.servers import BridgeProcess
from tests.sampler_bridge.test_bridge import assert_all_stored, other_reasons
from tests.sampler_bridge.test_processes_equal import METRICS, of, values
from tests.servers import ROOT, Pmcd, VictoriaMetrics, until_killed, wait_until

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root reads the kernel by BPF"
)

FOLDER = ROOT / "sampler_bridge" / "sources" / "processes"
# CAP_PERFMON is 38, CAP_BPF is 39.
ONLY_RIGHTS = f"{3 << 38:016x}"
RSS, UTIME, SNAME = "proc.psinfo.rss", "proc.psinfo.utime", "proc.psinfo.sname"
# Threads that end all the time, in a process that also waits for its CPU time.
ENDING = (
    "from threading import Thread\nwhile True:\n"
    "    some = [Thread(target=sum, args=(range(9_000),)) for _ in range(8)]\n"
    "    [one.start() for one in some]; [one.join() for one in some]"
)

NewBridge = Callable[..., BridgeProcess]


def without_rights(folder: Path) -> Path:
    """A program that lacks CAP_BPF."""
    path = folder / "without-rights"
    path.write_text(
        f"#!/bin/sh\nexec setpriv --bounding-set=-cap_39 {PROCESS_READER}\n", "utf-8"
    )
    path.chmod(0o755)
    return path


def children(pid: int) -> list[int]:
    """The numbers of a process's children that are the program."""
    found = subprocess.run(
        ["pgrep", "-P", str(pid), "-f", str(PROCESS_READER)],
        capture_output=True,
        text=True,
        check=False,
    )
    return [int(line) for line in found.stdout.split()]


def test_object_was_compiled_from_its_sources() -> None:
    """After a change, `make bpf` compiles it again."""
    sources = [(FOLDER / name).read_bytes() for name in ("tasks.bpf.c", "tasks.h")]
    digest = hashlib.sha256(b"".join(sources)).hexdigest()
    compiled = (FOLDER / "tasks.bpf.o").read_bytes()
    assert digest.encode() in compiled
    # The same in every folder.
    assert b"\0./sampler_bridge/sources/processes/tasks.bpf.c\0" in compiled


def test_program_keeps_two_rights_and_gives_what_is_compared_with_pcp() -> None:
    program = ProcessProgram(PROCESS_READER)
    try:
        status = Path(f"/proc/{program.pid}/status").read_text("utf-8")
        assert program.ask([0]).values.size > 1
        assert program.metrics.keys() == {*METRICS}
    finally:
        program.close()
    rights = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert {rights[name] for name in ("CapPrm", "CapEff")} == {ONLY_RIGHTS}
    assert rights["CapInh"] == f"{0:016x}"
    assert rights["NoNewPrivs"] == "1"


def test_reason_names_what_is_missing(tmp_path: Path, pmcd: Pmcd) -> None:
    assert find_access(PROCESS_READER, pmcd.address).serves(RSS)
    for path, address, reason in (
        (tmp_path / "none", pmcd.address, "`apt install gcc libc6-dev libbpf-dev`"),
        (without_rights(tmp_path), pmcd.address, "CAP_BPF and CAP_PERFMON"),
        (PROCESS_READER, pmcd.tcp, "PMCD may see other processes"),
    ):
        found = find_access(path, address)
        assert reason in found.reason
        assert not found.serves(RSS)
        assert found.document()["source"] == "pcp"
    with pytest.raises(KernelRefusedError):
        ProcessProgram(without_rights(tmp_path))


def test_first_process_is_read_or_named_as_hidden(pmcd: Pmcd) -> None:
    program = ProcessProgram(PROCESS_READER)
    try:
        seen = program.ask([0]).tasks
    finally:
        program.close()
    assert seen
    found = find_access(PROCESS_READER, pmcd.address)
    assert (1 in seen.numbers) == (not found.hidden)
    assert found.document()["hidden"] == (found.hidden or None)


def test_process_in_a_namespace_has_its_number_there() -> None:
    """As /proc in that namespace shows it; other processes are not seen there."""
    script = (
        "from tests.sampler_bridge.test_processes import *\n"
        "program = ProcessProgram(PROCESS_READER)\n"
        "found = program.ask([0]).values[0].tolist()\n"
        "print(found == [1, program.pid]); program.close()"
    )
    command = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c"]
    done = subprocess.run(
        [*command, script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "True\n", done.stderr


def test_sums_never_decrease_while_threads_end(kernel: ProcessSource) -> None:
    sums = [UTIME, "proc.psinfo.stime", "proc.psinfo.minflt", "proc.io.syscr"]
    kernel.select(sums)
    with until_killed([sys.executable, "-c", ENDING]) as process:
        before = dict.fromkeys(sums, 0.0)

        def has_run() -> bool:
            nonlocal before
            for _ in range(100):
                now = of(values(kernel.fetch()), process.pid)
                assert all(now[metric] >= before[metric] for metric in sums)
                before = now
            return before[UTIME] > 1000

        wait_until(has_run)


def test_new_process_is_seen_and_an_ended_one_is_not(kernel: ProcessSource) -> None:
    def read() -> SampleColumn:
        (column,) = kernel.fetch().columns
        return column

    kernel.select([RSS, "no.such.metric"])
    first = kernel.fetch()
    assert {name: gap.cause for name, gap in first.missing.items()} == {
        "no.such.metric": UNKNOWN_METRIC
    }
    # As long as no process starts or ends meanwhile.
    wait_until(lambda: read().series is read().series)
    with until_killed(["sleep", "60"]) as process:
        comm = Path(f"/proc/{process.pid}/comm")
        wait_until(lambda: comm.read_text("utf-8") == "sleep\n")
        found = values(kernel.fetch())
        process.kill()
    series = Series(RSS, f"{process.pid:06d} sleep")
    assert series not in values(first)
    assert found[series] > 0
    assert series not in values(kernel.fetch())


def test_stopped_program_is_a_source_that_is_down(kernel: ProcessSource) -> None:
    kernel.select([RSS])
    (pid,) = children(os.getpid())
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(SourceDownError):
        kernel.fetch()
    assert not kernel.connected
    kernel.connect()
    assert kernel.fetch().points > 1


def test_program_ends_with_its_reader() -> None:
    script = (
        "from tests.sampler_bridge.test_processes import *\n"
        "import os, signal\n"
        "print(ProcessProgram(PROCESS_READER).pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True
    )
    pid = int(done.stdout)
    wait_until(lambda: not Path(f"/proc/{pid}").exists())


@pytest.mark.serial
def test_bridge_reads_what_it_can_from_the_kernel_and_the_rest_from_pcp(
    pmcd: Pmcd, store: VictoriaMetrics, new_bridge: NewBridge
) -> None:
    """The program is killed meanwhile, which is a gap of its metrics only."""
    bridge = new_bridge(
        pmcd.address,
        store.url,
        process_reader=str(PROCESS_READER),
        priority=REALTIME,
    )
    with until_killed(["sleep", "1000"]) as process:
        bridge.sample([RSS, UTIME, SNAME, "kernel.all.load"], 0.1)
        bridge.wait_for(lambda status: status["written"] > 1000)
        assert bridge.process()["processes"]["source"] == "kernel"
        (pid,) = children(bridge.pid)
        assert priority_of(pid) == attainable(REALTIME)
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: set(children(bridge.pid)) - {pid})
        written = bridge.status()["written"]
        bridge.wait_for(lambda status: status["written"] > written + 1000)
        assert bridge.status()["metrics"] == {}
    assert bridge.end() == 0
    status, found = bridge.status(), store.values()
    assert set(other_reasons(status)) <= {GapReason.DOWN, GapReason.NAMELESS}
    assert_all_stored(status, found)
    name = f"{process.pid:06d} sleep"
    assert found[f"proc_psinfo_rss{{{name}}}"]
    assert not children(bridge.pid)


@pytest.mark.serial
def test_bridge_that_reads_only_the_kernel_asks_nothing_of_pcp(
    store: VictoriaMetrics, new_bridge: NewBridge, tmp_path: Path
) -> None:
    """Its plan does not need the PMCD, which does not run."""
    nowhere = f"unix://{tmp_path}/none"
    bridge = new_bridge(nowhere, store.url, process_reader=str(PROCESS_READER))
    bridge.sample([RSS], 0.1)
    bridge.wait_for(lambda status: status["written"] > 500)
    assert bridge.status()["pcp"]["reason"] is None
    assert explained(bridge, RSS).verdict in ("bridge behind", "not yet sampled")
    assert bridge.end() == 0
    assert_all_stored(bridge.status(), store.values())


@pytest.mark.serial
def test_bridge_without_rights_reads_through_pcp_and_says_so(
    pmcd: Pmcd, store: VictoriaMetrics, new_bridge: NewBridge, tmp_path: Path
) -> None:
    reader = without_rights(tmp_path)
    bridge = new_bridge(pmcd.address, store.url, process_reader=str(reader))
    bridge.sample([RSS, "kernel.all.load"], 0.1)
    bridge.wait_for(lambda status: status["written"] > 500)
    (line,) = [
        line
        for line in sampled_lines(read_sampled(bridge.state, "n1"))
        if "read through PCP" in line
    ]
    assert "CAP_BPF" in line
    assert bridge.output().count("processes are read through PCP") == 1
    assert explained(bridge, RSS).verdict in ("bridge behind", "not yet sampled")
    assert bridge.end() == 0
    assert_all_stored(bridge.status(), store.values())
