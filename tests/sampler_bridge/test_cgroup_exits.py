"""Tasks that ended, by control group, as the kernel reports them."""

import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.linux import taskstats
from core.linux.cgroups.roots import parse_roots
from core.linux.errors import TaskstatsError
from core.linux.taskstats import (
    ExitSocket,
    check_version,
    delays_are_counted,
    parse_exits,
)
from sampler_bridge.sources.cgroup.exit_source import ExitSource
from sampler_bridge.sources.cgroup.exits import ExitCounter
from sampler_bridge.sources.cgroup.source import CgroupSource
from sampler_bridge.sources.cgroup.watch import CgroupWatch
from sampling.account.reasons import GapReason
from sampling.sources.cgroup_exits import DELAYS, EXITS, HOST, exit_metrics
from sampling.sources.source import Series
from tests.cgroup_folders import Folders, cgroup_folders
from tests.servers import ENDS_WITH_US, wait_until

SHORT = "i=0; while [ $i -lt {} ]; do /bin/true; i=$((i+1)); done"


@pytest.fixture(autouse=True)
def reports() -> None:
    try:
        ExitSocket().close()
    except TaskstatsError as error:
        pytest.skip(str(error))


@pytest.fixture
def folders() -> Iterator[Folders]:
    with cgroup_folders("st_x") as made:
        yield made


def values(source: CgroupSource) -> dict[tuple[str, str], int]:
    return {
        (series.metric, str(series.instance)): int(value)
        for column in source.fetch().columns
        for series, value in zip(column.series, column.values, strict=True)
    }


def shell(folders: Folders, name: str, number: int, mount: Path | None = None) -> None:
    """Start a shell in a group that starts short programs, one after the other."""
    script = f"read go; {SHORT.format(number)}; exec sleep 60"
    default = folders.mounts.get("v2") or next(iter(folders.mounts.values()))
    mount = mount or default
    process = subprocess.Popen(
        [*ENDS_WITH_US, "sh", "-c", script], stdin=subprocess.PIPE
    )
    folders.processes.append(process)
    (mount / folders.top / name / "cgroup.procs").write_text(str(process.pid))
    assert process.stdin is not None
    process.stdin.write(b"\n")
    process.stdin.close()


def of_host(counter: ExitCounter) -> tuple[float, float]:
    found = counter.values()
    return found[Series(EXITS + "tasks", HOST)], found[Series(EXITS + "lost", HOST)]


def test_short_programs_are_counted_to_their_group(
    folders: Folders, tmp_path: Path
) -> None:
    job, other = folders.make("job"), folders.make("other")
    source = CgroupSource(CgroupWatch(parse_roots(f"{folders.top}/*"), 10, tmp_path))
    source.select([*exit_metrics()])
    values(source)
    shell(folders, "job", 500)
    wait_until(lambda: values(source)[EXITS + "tasks", job] >= 500)
    found = values(source)
    assert found[EXITS + "tasks", job] == 500
    assert found[EXITS + "tasks", other] == 0
    assert found[EXITS + "tasks", HOST] >= 500
    assert found[EXITS + "cpu", job] > 500 * 1000
    assert found[EXITS + "lost", HOST] == 0
    missing = source.fetch().missing
    assert {*missing} == (set() if delays_are_counted() else {*DELAYS})
    source.close()


def test_each_hierarchy_has_its_short_programs(
    folders: Folders, tmp_path: Path
) -> None:
    """In version 1 the kernel shows an ended task at the root."""
    source = CgroupSource(CgroupWatch(parse_roots(f"{folders.top}/*"), 99, tmp_path))
    source.select([EXITS + "tasks"])
    # A group of cpuset takes no process before it has CPUs.
    mounts = {name: one for name, one in folders.mounts.items() if name != "cpuset"}
    jobs = {name: folders.make(name) for name in mounts}
    values(source)
    for name, mount in mounts.items():
        shell(folders, name, 200, mount)
    for job in jobs.values():
        wait_until(lambda job=job: values(source)[EXITS + "tasks", job] >= 200)
        assert values(source)[EXITS + "tasks", job] == 200
    source.close()


def test_full_buffer_is_counted(folders: Folders) -> None:
    socket = ExitSocket(buffer=4096)
    counter = ExitCounter(socket)
    subprocess.run(["sh", "-c", SHORT.format(300)], stdin=subprocess.DEVNULL)
    tasks, lost = of_host(counter)
    assert lost > 0
    assert tasks + lost >= 300
    assert socket.overruns >= 1
    counter.stop(5)


def test_many_short_programs_are_all_accounted_for(folders: Folders) -> None:
    """As many as in two seconds of 100,000 a minute, in a burst."""
    counter = ExitCounter(ExitSocket())
    counter.start()
    subprocess.run(["sh", "-c", SHORT.format(3300)], stdin=subprocess.DEVNULL)
    tasks, lost = of_host(counter)
    assert tasks + lost >= 3300
    counter.stop(5)
    assert not counter.alive


def test_missing_rights_are_named() -> None:
    code = (
        "import os\n"
        "from core.linux.taskstats import ExitSocket\n"
        "from core.linux.errors import TaskstatsError\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "try: ExitSocket()\n"
        "except TaskstatsError as error: print(error.code, error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("taskstats-refused ")
    assert "CAP_NET_ADMIN" in done.stdout


@pytest.mark.parametrize("data", [b"", b"\xff" * 40, b"\x10\0\0\0" * 9, b"\0" * 64])
def test_damaged_messages_give_nothing(data: bytes) -> None:
    assert not [*parse_exits(data, 16)]


def test_version_with_other_fields_is_refused() -> None:
    """Linux of one version put new fields between the old ones."""

    def answer(version: int) -> bytes:
        stats = struct.pack("=H", version).ljust(560, b"\0")
        inner = struct.pack("=HH", 4 + len(stats), 3) + stats
        return bytes(4) + struct.pack("=HH", 4 + len(inner), 4) + inner

    check_version(answer(14))
    check_version(answer(16))
    with pytest.raises(TaskstatsError, match="version 15") as refused:
        check_version(answer(15))
    assert refused.value.code == "taskstats-refused"


def reason(source: ExitSource) -> str:
    source.select([EXITS + "tasks"])
    values, missing = source.read(())
    assert not values
    return missing[EXITS + "tasks"].cause.reason


def test_layout_that_cannot_be_read_is_not_supported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The kernel's own answer, as if its version were the one with other fields."""
    answers: list[bytes] = []
    monkeypatch.setattr(taskstats, "check_version", answers.append)
    ExitSocket().close()
    monkeypatch.undo()
    (stats,) = taskstats._accounts(answers[0])
    monkeypatch.setattr(taskstats, "_MOVED", int.from_bytes(stats[:2], sys.byteorder))
    assert reason(ExitSource()) is GapReason.UNSUPPORTED


def test_missing_rights_are_the_reason_for_no_values() -> None:
    code = (
        "import os\n"
        "from tests.sampler_bridge.test_cgroup_exits import ExitSource, reason\n"
        "from sampling.sources.cgroup_exits import exit_metrics\n"
        "exit_metrics()  # reads a file, which may be in the folder of root\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "print(reason(ExitSource()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == GapReason.DENIED
