"""Plans are added and removed while the bridge samples, between real servers."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from supertwin.cli.main import main
from tests.sampler_bridge.servers import BridgeProcess, closes
from tests.sampling.plans.test_sample import REFUSED
from tests.servers import Fuseki, Pmcd, VictoriaMetrics, wait_until

pytestmark = pytest.mark.serial

Run = Callable[..., Result]
Values = Mapping[str, Mapping[int, float]]

_PSWITCH, _NEW = "kernel.all.pswitch", "sample.milliseconds"
USER, SYS = "kernel.percpu.cpu.user", "kernel.percpu.cpu.sys"


@pytest.fixture
def servers(
    fuseki: Fuseki, tmp_path: Path
) -> Iterator[tuple[Fuseki, Pmcd, VictoriaMetrics]]:
    fuseki.empty()
    with (
        Pmcd(tmp_path / "pmcd", sample=True) as pmcd,
        VictoriaMetrics(tmp_path / "store") as store,
    ):
        yield fuseki, pmcd, store


@pytest.fixture
def run(
    servers: tuple[Fuseki, Pmcd, VictoriaMetrics],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Run:
    """Return the command line, with the twin of this machine."""
    fuseki, pmcd, _ = servers
    own = {"SUPERTWIN_HOST": "here", "SUPERTWIN_PMCD": pmcd.address}
    for name, value in (fuseki.environment(tmp_path / "home") | own).items():
        monkeypatch.setenv(name, value)

    def call(*words: str) -> Result:
        done = CliRunner().invoke(main, words)
        print(words, done.output)
        return done

    assert call("ingest").exit_code == 0
    return call


@pytest.fixture
def bridge(
    run: Run,
    servers: tuple[Fuseki, Pmcd, VictoriaMetrics],
    tmp_path: Path,
) -> Iterator[BridgeProcess]:
    """Start a bridge for the monitor plan, in the folder that the CLI notifies."""
    fuseki, pmcd, store = servers
    process = BridgeProcess(tmp_path / "out", pmcd.address, store.url)
    process.state = tmp_path / "home" / "bridge"
    process.options |= {
        "state": str(process.state),
        "fuseki": fuseki.url,
        "host": "here",
    }
    with process:
        process.wait_for(lambda status: status["written"])
        yield process


def lacking(
    points: Collection[int], period_ms: int, bounds: tuple[int, int] | None = None
) -> int:
    """Count missing ticks within bounds (ms), by default from first to last point."""
    first, last = bounds or (min(points), max(points))
    due = {*range(first, last + 1, period_ms)}
    assert due
    assert {ms for ms in points if first <= ms <= last} <= due
    return len(due - {*points})


def lacking_seconds(values: Values, finer: Collection[str]) -> int:
    """Count missing whole seconds of the series that no other plan takes over."""
    others = [name for name in values if name not in finer]
    return sum(
        lacking(values[name], 1000) for name in others if not name.startswith("network")
    )


def taken_over(points: Collection[int], period_ms: int) -> tuple[int, int, int]:
    """Return first and last tick (ms) of a finer plan, and the number missing."""
    finer = [ms for ms in points if ms % 1000]
    first, last = min(finer), max(finer)
    until, since = first // 1000 * 1000, last // 1000 * 1000 + 1000
    absent = lacking(points, period_ms, (first, last))
    absent += lacking(points, 1000, (min(points), max(until, min(points))))
    if max(points) > last:
        absent += lacking(points, 1000, (since, max(points)))
    return first, last, absent


def of(values: Values, metric: str) -> dict[str, Mapping[int, float]]:
    name = metric.replace(".", "_")
    return {s: points for s, points in values.items() if s.startswith(name + "{")}


def finer(store: VictoriaMetrics) -> list[int]:
    """Return the ticks of a CPU's time in the store."""
    return store.peek('kernel_percpu_cpu_user{instname="cpu0"}')


def has_beside(store: VictoriaMetrics, metric: str, period_ms: int) -> bool:
    """Return whether a metric has a tick that is not a multiple of a period."""
    match = f'{metric.replace(".", "_")}{{instname=~"cpu0|"}}'
    return any(ms % period_ms for ms in store.peek(match))


def spans(ticks: Sequence[int]) -> tuple[int, int]:
    """Return the ms from first to last tick between whole seconds, and the ms since."""
    between = [ms for ms in ticks if ms % 1000]
    return (between[-1] - between[0], ticks[-1] - between[-1]) if between else (0, 0)


def test_fast_plan_is_added_and_removed_next_to_a_slow_one(
    run: Run,
    bridge: BridgeProcess,
    servers: tuple[Fuseki, Pmcd, VictoriaMetrics],
) -> None:
    *_, store = servers
    threads = ("--query", "topology/socket-threads", "--param", "socket=0")
    added = run("sample", "add", USER, "--period", "10ms", "--plan", "fast", *threads)
    assert added.exit_code == 0
    assert "no bridge runs here" not in added.stderr
    one = ("--instance", "cpu0", "--period", "100ms", "--plan", "one")
    assert run("sample", "add", SYS, *one).exit_code == 0
    wait_until(lambda: spans(finer(store))[0] > 2500, what="2.5 s at 10 ms")
    for words, _ in REFUSED:
        period = () if "--period" in words else ("--period", "10ms")
        taken = ["fast" if word == "taken" else word for word in words]
        assert run("sample", "add", *taken, *period).exit_code == 2
    assert run("sample", "remove", "fast").exit_code == 0
    wait_until(lambda: spans(finer(store))[1] > 2000, what="only whole seconds")
    assert bridge.end() == 0
    status, values = bridge.status(), store.values()
    # Every point is in the store once: no two samplers sent it.
    assert closes(status)
    assert status["written"] == sum(map(len, values.values()))
    users, one = of(values, USER), "kernel_percpu_cpu_sys{cpu0}"
    *_, absent = taken_over(values[one], 100)
    absent += lacking_seconds(values, [*users, one])
    for points in users.values():
        first, last, more = taken_over(points, 10)
        absent += more
        assert last - first > 2000 and max(points) > last + 1000
    # Missing points are counted: no tick got lost between two plans.
    assert absent <= sum(status["reasons"].values())


def test_series_changes_its_period_without_a_gap(
    run: Run,
    bridge: BridgeProcess,
    servers: tuple[Fuseki, Pmcd, VictoriaMetrics],
) -> None:
    """Plans may share the period at which another plan begins and ends."""
    *_, store = servers
    one = ("--instance", "cpu0")
    # Each with a series, and a period that divided all ticks of the series before.
    good = [
        (("add", USER, "--period", "100ms", "--plan", "a", *one), USER, 1000),
        (("add", USER, "--period", "50ms", "--plan", "b"), USER, 100),
        (("add", SYS, _PSWITCH, "--period", "100ms", "--plan", "c"), SYS, 1000),
        (("remove", "b"), "", 0),
        (("remove", "a"), "", 0),
        (("add", _NEW, "--period", "100ms", "--plan", "a"), _NEW, 1000),
        (("remove", "c"), "", 0),
    ]
    for words, metric, before in good:
        assert run("sample", *words).exit_code == 0
        if metric:
            wait_until(partial(has_beside, store, metric, before), what=metric)
        time.sleep(0.7)
    time.sleep(1.2)
    assert bridge.end() == 0
    status, values = bridge.status(), store.values()
    assert closes(status)
    assert status["written"] == sum(map(len, values.values()))
    assert any(ms % 100 for ms in values["kernel_percpu_cpu_user{cpu0}"])
    fifty = of(values, USER)
    tenths = {**of(values, SYS), "kernel_all_pswitch": values["kernel_all_pswitch"]}
    # Two plans sampled it, one after the other and at once.
    cpu0 = fifty.pop("kernel_percpu_cpu_user{cpu0}")
    tenths["cpu0"] = {ms: value for ms, value in cpu0.items() if ms % 100 == 0}
    new = "sample_milliseconds"
    both = [*of(values, USER), *of(values, SYS), "kernel_all_pswitch", new]
    absent = lacking(values[new], 100) + lacking_seconds(values, both)
    for period_ms, series in ((50, fifty), (100, tenths)):
        for points in series.values():
            absent += taken_over(points, period_ms)[-1]
    # Missing points are counted: no tick got lost between two plans.
    assert absent <= sum(status["reasons"].values())
