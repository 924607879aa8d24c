"""Events that are counted for the processes of one control group."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.linux.cgroups.groups import Cgroup
from core.linux.cgroups.roots import parse_roots
from sampler_bridge.sources.cgroup import counters as counting
from sampler_bridge.sources.cgroup.counters import GroupCounters
from sampler_bridge.sources.cgroup.source import CgroupSource
from sampler_bridge.sources.cgroup.watch import CgroupWatch
from sampling.account.reasons import GapReason
from sampling.sources.cgroup_metrics import COUNTED, PREFIX, cgroup_events
from tests.cgroup_folders import Folders, cgroup_folders
from tests.servers import ENDS_WITH_US, ROOT, wait_until

FAULTS, CLOCK = PREFIX + "perf.page_faults", PREFIX + "perf.task_clock"
MINOR, CYCLES = PREFIX + "perf.minor_faults", PREFIX + "perf.cpu_cycles"
# Maps and touches N pages, and waits for a line before it and after it.
TOUCH = """
import mmap, sys
print("ready", flush=True)
sys.stdin.readline()
pages = mmap.mmap(-1, 4096 * int(sys.argv[1]))
for at in range(0, len(pages), 4096): pages[at] = 1
print("touched", flush=True)
sys.stdin.readline()
"""
PAGES = 20_000


@pytest.fixture
def folders() -> Iterator[Folders]:
    with cgroup_folders("st_p") as made:
        if not {"v2", "perf_event"} & made.mounts.keys():
            pytest.skip("no hierarchy that counts events: mount cgroup2")
        yield made


def source(folders: Folders, tmp_path: Path, *metrics: str) -> CgroupSource:
    made = CgroupSource(CgroupWatch(parse_roots(f"{folders.top}/*"), 10, tmp_path))
    made.select(metrics)
    return made


def values(made: CgroupSource) -> dict[tuple[str, str], int]:
    return {
        (series.metric, str(series.instance)): int(value)
        for column in made.fetch().columns
        for series, value in zip(column.series, column.values, strict=True)
    }


@contextmanager
def toucher(folders: Folders, job: str, pages: int) -> Iterator[Callable[[], None]]:
    """Start a program in a group; yield what lets it touch pages and waits for that."""
    words = (*ENDS_WITH_US, sys.executable, "-S", "-c", TOUCH, str(pages))
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin and process.stdout
        for key in {"v2", "perf_event"} & folders.mounts.keys():
            folders.write(job, key, "cgroup.procs", str(process.pid))
        assert process.stdout.readline() == "ready\n"

        def touch() -> None:
            print("go", file=process.stdin, flush=True)
            assert process.stdout.readline() == "touched\n"

        yield touch
        print("end", file=process.stdin, flush=True)


def test_faults_of_a_job_are_counted_without_its_neighbour(
    folders: Folders, tmp_path: Path
) -> None:
    job, noisy = folders.make("job_1"), folders.make("job_2")
    made = source(folders, tmp_path, FAULTS, CLOCK, COUNTED)
    with (
        toucher(folders, "job_1", PAGES) as touch,
        toucher(folders, "job_2", 5 * PAGES) as touch_more,
    ):
        wait_until(lambda: (FAULTS, job) in values(made))
        before = values(made)
        touch_more()
        touch()
        after = values(made)
    made.close()
    grown = {path: after[FAULTS, path] - before[FAULTS, path] for path in (job, noisy)}
    assert grown[job] == pytest.approx(PAGES, rel=0.01)
    assert grown[noisy] == pytest.approx(5 * PAGES, rel=0.01)
    assert after[CLOCK, job] > before[CLOCK, job]
    assert after[COUNTED, job] == 100


def test_group_that_vanishes_ends_its_counters_only(
    folders: Folders, tmp_path: Path
) -> None:
    job, other = folders.make("job_1"), folders.make("job_2")
    made = source(folders, tmp_path, FAULTS)
    wait_until(lambda: (FAULTS, job) in values(made))
    before = open_files()
    folders.remove("job_1")
    wait_until(lambda: (FAULTS, job) not in values(made))
    assert (FAULTS, other) in values(made)
    assert before - open_files() == len(counting.online_cpus())
    made.close()
    assert open_files() < before


def open_files() -> int:
    return len([*Path("/proc/self/fd").iterdir()])


def test_event_without_a_counter_is_named(folders: Folders, tmp_path: Path) -> None:
    """Here there are no hardware counters; where there are, the event is counted."""
    job = folders.make("job_1")
    made = source(folders, tmp_path, CYCLES)
    wait_until(lambda: made.fetch().missing or values(made))
    gap = made.fetch().missing.get(CYCLES)
    is_counted = CYCLES in counting.countable(str(folders.mounts["v2"]))
    assert is_counted == ((CYCLES, job) in values(made))
    assert is_counted or (gap and gap.cause.reason is GapReason.UNSUPPORTED)


def test_too_many_counters_are_refused(folders: Folders) -> None:
    group = group_of(folders, folders.make("job_1"))
    cpus = len(counting.online_cpus())
    events = {name: cgroup_events()[name] for name in (FAULTS, MINOR)}
    counters = GroupCounters(group, events, most=2 * cpus - 1)
    found = counters.read()
    counters.close()
    assert found.values.keys() == {FAULTS, COUNTED}
    assert "open files" in found.gaps[MINOR].detail


def group_of(folders: Folders, path: str) -> Cgroup:
    mount = str(folders.mounts["v2"])
    number = Path(mount + path).stat().st_ino
    return Cgroup(path, {"v2": mount + path}, {mount: number}, (2,))


def test_counts_that_took_turns_are_scaled_and_never_decrease() -> None:
    counter = counting._Counter([0])
    read = iter(
        [
            counting.Count(100, 1000, 1000),
            counting.Count(150, 2000, 1500),
            counting.Count(150, 3000, 1500),
            counting.Count(400, 4000, 2500),
        ]
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "read_counter", lambda _: next(read))
        totals = []
        for _ in range(4):
            counter.read()
            totals.append(counter.total)
    # In the third interval, nothing was counted.
    assert totals == [100, 200, 200, 450]
    assert (counter.enabled, counter.running) == (1000, 1000)


def test_account_without_the_right_is_told_so(folders: Folders) -> None:
    job = folders.make("job_1")
    script = (
        "import sys; from sampler_bridge.sources.cgroup.counters import *;"
        "from core.linux.perf_event import PerfEvent;"
        f"group = Cgroup({job!r}, {{'v2': sys.argv[1]}}, {{'/': 1}}, (2,));"
        "print(GroupCounters(group, {'faults': PerfEvent(1, 2)}, 99).read().gaps)"
    )
    rights = ["setpriv", "--bounding-set=-perfmon,-sys_admin"]
    python = [*rights, sys.executable, "-c", script]
    folder = str(folders.mounts["v2"]) + job
    done = subprocess.run([*python, folder], cwd=ROOT, capture_output=True, text=True)
    assert "CAP_PERFMON" in done.stdout, done.stderr
