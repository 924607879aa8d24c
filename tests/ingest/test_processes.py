"""Reading and naming processes of this machine."""

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ingest.describe.process import describe_process
from ingest.errors import MalformedSourceError, ProcessNameError, SourceMissingError
from ingest.named_processes import NamedProcess
from ingest.sources.processes import (
    Identity,
    find_processes,
    identify,
    parse_identity,
    parse_numa_maps,
    parse_stat,
    read_process,
)
from ontology.iris import Iris
from ontology.terms import ST
from shapes.validate import validate

CPUS = sorted(os.sched_getaffinity(0))
LAST = CPUS[-1]
BOOT = "0f6a1c9e-0000-4000-8000-00000000abcd"


@contextmanager
def running(*words: str) -> Iterator[int]:
    with subprocess.Popen(words, stdin=subprocess.DEVNULL) as process:
        try:
            yield process.pid
        finally:
            process.kill()


def test_own_process_is_read() -> None:
    found = read_process(os.getpid())
    assert found is not None
    assert found.identity.pid == os.getpid()
    assert found.parent and found.parent.pid == os.getppid()
    assert found.cpus == sorted(os.sched_getaffinity(0))
    assert found.state == "running"
    assert found.executable == str(Path("/proc/self/exe").readlink())
    assert found.resident and found.resident > 1 << 20
    assert found.task_count == len(list(Path("/proc/self/task").iterdir()))
    assert datetime.now(UTC) - timedelta(hours=3) < found.started < datetime.now(UTC)


def test_pinned_process_has_its_cpus() -> None:
    with running("taskset", "-c", str(LAST), "sleep", "60") as pid:
        # A process has its new name before its new command.
        while (found := read_process(pid)) and found.command != "sleep 60":
            pass
        # The one that was read may be half `taskset` and half `sleep`.
        found = read_process(pid)
        assert found is not None
        assert (found.cpus, found.command) == ([LAST], "sleep 60")
        assert [task.last_cpu for task in found.tasks] == [LAST]
        assert identify(pid) == (found.identity, "sleep")
        assert (found.identity, "sleep") in list(find_processes())
        triples = describe_process(Iris("http://x"), "n1", found)
    used = [str(o) for _, p, o in triples if p == ST.mayRunOn]
    assert used == [f"http://x/twin/n1/thread/{LAST}"]
    assert read_process(pid) is None


def test_separately_pinned_thread_is_read() -> None:
    code = (
        "import os, threading, time\n"
        f"def run():\n os.sched_setaffinity(0, {{{LAST}}}); time.sleep(60)\n"
        "threading.Thread(target=run, daemon=True).start(); time.sleep(60)\n"
    )
    with running("/usr/bin/python3", "-c", code) as pid:
        while not (found := read_process(pid)) or (
            [task.cpus for task in found.tasks] != [CPUS, [LAST]]
        ):
            assert found
        iri = Iris("http://x")
        triples = describe_process(iri, "n1", found)
    own = [str(s).rpartition("/")[2] for s, p, _ in triples if p == ST.mayRunOn]
    assert [name for name in own if name.startswith("thread-")] == [
        f"thread-{found.tasks[1].tid}"
    ]
    triples.node(iri.host("n1"), ST.ComputeNode, {ST.hostname: "n1"}, label="n1")
    assert not [line for line in validate(triples.graph()).lines if "process" in line]


def test_thread_is_not_a_process() -> None:
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        assert thread.native_id and thread.native_id != os.getpid()
        assert Path(f"/proc/{thread.native_id}/stat").exists()
        assert read_process(thread.native_id) is None
    finally:
        done.set()
        thread.join()


def test_identity_round_trips() -> None:
    identity = Identity(12, 3456, BOOT)
    assert parse_identity(str(identity)) == identity
    for text in ("12", "12.3456", f"x.1.{BOOT}", f"12.3.{BOOT}x", "", "slurmd"):
        assert parse_identity(text) is None


def test_name_may_contain_any_character() -> None:
    fields = "S 1 " + " ".join(map(str, range(40)))
    assert parse_stat(f"7 (a) b (c) {fields}")[0] == "a) b (c"


@pytest.mark.parametrize("text", ["", "7", "7 (a) S 1", "7 a S " + "1 " * 50])
def test_invalid_stat_is_refused(text: str) -> None:
    with pytest.raises(MalformedSourceError, match="proc is mounted at /proc"):
        parse_stat(text)


def test_memory_is_summed_by_domain() -> None:
    text = (
        "5581 default file=/usr/bin/a mapped=3 N0=2 N1=1 kernelpagesize_kB=4\n"
        "7f00 bind:1 anon=2 dirty=2 N1=2 kernelpagesize_kB=2048\n"
        "7fff default stack anon=1 N9\n"
    )
    assert parse_numa_maps(text) == {0: 8192, 1: 4096 + 2 * 2048 * 1024}


def test_missing_proc_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SourceMissingError, match="mount proc"):
        read_process(1, tmp_path)


@pytest.mark.parametrize("name", ["", "12", " a", "a/b", "x" * 65, "a\n"])
def test_invalid_name_is_refused(name: str) -> None:
    with pytest.raises(ProcessNameError, match="is not a valid process name"):
        NamedProcess(name, "a", "name")


@pytest.mark.parametrize("expression", ["", "(", "x" * 513, f"a{{{10**20}}}"])
def test_invalid_expression_is_refused(expression: str) -> None:
    with pytest.raises(ProcessNameError, match="is not a regular expression"):
        NamedProcess("a", expression, "name")


def test_ambiguous_expression_is_refused() -> None:
    assert NamedProcess("a", "[[a]", "name").expression == "[[a]"
