"""What `pmapi` adds to PCP's Python binding, and its behaviour without the binding."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Event, Thread

import pytest

from core.linux import pmapi
from tests.servers import ENDS_WITH_US, ROOT, Pmcd, wait_until

# Simulates a missing binding.
WITHOUT = "import sys; sys.modules['pcp'] = None; "
PROBE = "from supertwin.cli.main import main; sys.exit(main(sys.argv[1:]))"
CONNECT = """
from sampling.errors import SourceDownError
from sampling.sources.pcp_source import PcpSource
source = PcpSource(sys.argv[1])
source.select(["kernel.all.load"])
try:
    source.connect()
except SourceDownError as error:
    print(error)
"""
MISSING = (
    "PCP's Python binding cannot be loaded (No module named 'pcp.pmapi'; 'pcp' is "
    "not a package): apt-get install python3-pcp, then run ./install.sh"
)


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_instance_names_are_utf8(tmp_path: Path) -> None:
    sleeper = tmp_path / "schläfer"
    sleeper.symlink_to("/bin/sleep")
    process = subprocess.Popen([*ENDS_WITH_US, sleeper, "600"])
    try:
        # PCP keeps the first name that it sees, so wait until the program runs.
        command = Path(f"/proc/{process.pid}/cmdline")
        wait_until(lambda: command.read_bytes().startswith(bytes(sleeper)))
        with Pmcd(tmp_path / "pmcd") as pmcd, pmapi.Context(pmcd.address) as context:
            indom = context.describe("proc.psinfo.rss").indom
            name = f"{process.pid:06} {sleeper}"
            assert context.instance_name(indom, process.pid) == name
            assert context.instances(indom)[process.pid] == name
    finally:
        process.kill()
        process.wait()


def test_other_threads_run_while_pmcd_is_silent(own_pmcd: Pmcd) -> None:
    ticked, asked = Event(), Event()

    def wake_pmcd() -> None:
        asked.wait()
        time.sleep(0.1)
        ticked.set()
        os.kill(own_pmcd.pid, signal.SIGCONT)

    with pmapi.Context(own_pmcd.address) as context:
        os.kill(own_pmcd.pid, signal.SIGSTOP)
        Thread(target=wake_pmcd).start()
        asked.set()
        # If Python's lock were held here, PCP would give up after its 10 s.
        assert "kernel.all.load" in context.names()
    assert ticked.is_set()


def test_closed_context_releases_its_socket_immediately(pmcd: Pmcd) -> None:
    before = descriptors()
    with pmapi.Context(pmcd.address) as context:
        with pytest.raises(pmapi.PmError) as kept:
            context.describe("no.such.metric")
        assert descriptors() == before + 1
    assert descriptors() == before
    assert kept.value.number == pmapi.PmStatus.UNKNOWN_NAME


def test_threads_look_up_different_numbers_of_names(pmcd: Pmcd) -> None:
    names = ["pmcd.version", "sample.long.one", "sample.bin"]
    wrong: list[object] = []

    def look_up(count: int) -> None:
        with pmapi.Context(pmcd.address) as context:
            for _ in range(300):
                found = context.describe_all(names[:count])
                wrong.extend(one for one in found if isinstance(one, pmapi.PmError))

    threads = [Thread(target=look_up, args=(count,)) for count in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def run_without(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT + code, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_probe_works_without_the_binding_and_names_it(tmp_path: Path) -> None:
    out = tmp_path / "probe.json"
    done = run_without(PROBE, "probe", "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert MISSING in out.read_text()
    assert "Traceback" not in done.stderr


def test_bridge_names_the_missing_binding_as_the_reason(pmcd: Pmcd) -> None:
    done = run_without(CONNECT, pmcd.address)
    assert done.stdout == f"{MISSING}\n", done.stderr
