"""Plans that come and go while the bridge samples, between real servers."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from supertwin.cli.main import main
from tests.sampler_bridge.heartbeat import Heartbeat
from tests.sampler_bridge.servers import BridgeProcess, closes
from tests.servers import Fuseki, Pmcd, VictoriaMetrics
from tests.supertwin.test_sample import REFUSED

pytestmark = pytest.mark.serial

Run = Callable[..., Result]
Values = Mapping[str, Mapping[int, float]]

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
    """The command line before the twin of this machine."""
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
def heartbeat(run: Run, tmp_path: Path) -> Iterator[Heartbeat]:
    """Tells at which ticks the machine was held up."""
    with Heartbeat(tmp_path / "heartbeat") as control:
        yield control


@pytest.fixture
def bridge(
    heartbeat: Heartbeat,
    servers: tuple[Fuseki, Pmcd, VictoriaMetrics],
    tmp_path: Path,
) -> Iterator[BridgeProcess]:
    """A bridge that samples the monitor plan, in the folder that the CLI nudges."""
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


def assert_seconds(
    heartbeat: Heartbeat, values: Values, finer: Collection[str]
) -> None:
    """All series but those that another plan takes over have every whole second."""
    for name in values.keys() - {*finer}:
        if not name.startswith("network"):
            heartbeat.assert_every_tick(values[name], 1000)


def assert_taken_over(
    heartbeat: Heartbeat, points: Collection[int], period_ms: int
) -> tuple[int, int]:
    """A series has whole seconds, and all ticks of a finer plan for a while.

    The ends of that while.
    """
    finer = [ms for ms in points if ms % 1000]
    first, last = min(finer), max(finer)
    heartbeat.assert_every_tick(points, period_ms, (first, last))
    until, since = first // 1000 * 1000, last // 1000 * 1000 + 1000
    heartbeat.assert_every_tick(points, 1000, (min(points), until))
    if max(points) > last:
        heartbeat.assert_every_tick(points, 1000, (since, max(points)))
    return first, last


def of(values: Values, metric: str) -> dict[str, Mapping[int, float]]:
    name = metric.replace(".", "_")
    return {s: points for s, points in values.items() if s.startswith(name + "{")}


def test_a_plan_at_10_ms_comes_and_goes_beside_one_at_1_s(
    run: Run,
    bridge: BridgeProcess,
    servers: tuple[Fuseki, Pmcd, VictoriaMetrics],
    heartbeat: Heartbeat,
) -> None:
    *_, store = servers
    threads = ("--query", "topology/socket-threads", "--param", "socket=0")
    added = run("sample", "add", USER, "--period", "10ms", "--plan", "fast", *threads)
    noticed_ms = time.time_ns() // 1_000_000
    assert added.exit_code == 0
    assert "no bridge runs here" not in added.stderr
    one = ("--instance", "cpu0", "--period", "100ms", "--plan", "one")
    assert run("sample", "add", SYS, *one).exit_code == 0
    time.sleep(3)
    for words, _ in REFUSED:
        period = () if "--period" in words else ("--period", "10ms")
        taken = ["fast" if word == "taken" else word for word in words]
        assert run("sample", "add", *taken, *period).exit_code == 2
    assert run("sample", "remove", "fast").exit_code == 0
    removed_ms = time.time_ns() // 1_000_000
    time.sleep(2.5)
    assert bridge.end() == 0
    status, values = bridge.status(), store.values()
    # Every point is in the store once: none was sent by two samplers.
    assert closes(status)
    assert status["written"] == sum(map(len, values.values()))
    users, one = of(values, USER), "kernel_percpu_cpu_sys{cpu0}"
    assert_seconds(heartbeat, values, [*users, one])
    assert_taken_over(heartbeat, values[one], 100)
    for points in users.values():
        first, last = assert_taken_over(heartbeat, points, 10)
        assert first < noticed_ms + 1000
        assert last < removed_ms + 1000
        assert last - first > 2500 and max(points) > last + 1000


def test_a_series_goes_from_one_period_to_another_without_a_gap(
    run: Run,
    bridge: BridgeProcess,
    servers: tuple[Fuseki, Pmcd, VictoriaMetrics],
    heartbeat: Heartbeat,
) -> None:
    """Also while plans share the period at which another begins and ends."""
    *_, store = servers
    good = [
        ("add", USER, "--period", "100ms", "--plan", "a", "--instance", "cpu0"),
        ("add", USER, "--period", "50ms", "--plan", "b"),
        ("add", SYS, "kernel.all.pswitch", "--period", "100ms", "--plan", "c"),
        ("remove", "b"),
        ("remove", "a"),
        ("add", "sample.milliseconds", "--period", "100ms", "--plan", "a"),
        ("remove", "c"),
    ]
    for words in good:
        assert run("sample", *words).exit_code == 0
        time.sleep(0.7)
    time.sleep(1.2)
    assert bridge.end() == 0
    status, values = bridge.status(), store.values()
    assert closes(status)
    assert status["written"] == sum(map(len, values.values()))
    assert any(ms % 100 for ms in values["kernel_percpu_cpu_user{cpu0}"])
    fifty = of(values, USER)
    tenths = {**of(values, SYS), "kernel_all_pswitch": values["kernel_all_pswitch"]}
    # Two plans had it, one after the other and at once.
    cpu0 = fifty.pop("kernel_percpu_cpu_user{cpu0}")
    tenths["cpu0"] = {ms: value for ms, value in cpu0.items() if ms % 100 == 0}
    for period_ms, series in ((50, fifty), (100, tenths)):
        for points in series.values():
            assert_taken_over(heartbeat, points, period_ms)
    new = "sample_milliseconds"
    heartbeat.assert_every_tick(values[new], 100)
    both = [*of(values, USER), *of(values, SYS), "kernel_all_pswitch", new]
    assert_seconds(heartbeat, values, both)
