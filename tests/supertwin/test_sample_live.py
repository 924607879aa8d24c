"""Plans that come and go while the bridge samples, between real servers."""

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sampler_bridge.account.account import LATE, SLOW_SOURCE
from supertwin.cli.main import main
from tests.sampler_bridge.servers import BridgeProcess, closes
from tests.servers import Fuseki, Pmcd, VictoriaMetrics
from tests.supertwin.test_sample import REFUSED

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
def bridge(
    run: Run, servers: tuple[Fuseki, Pmcd, VictoriaMetrics], tmp_path: Path
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


def absent(points: Mapping[int, float], period_ms: int) -> int:
    """Ticks between the first and the last that a series lacks."""
    return (max(points) - min(points)) // period_ms + 1 - len(points)


def of(values: Values, metric: str) -> dict[str, Mapping[int, float]]:
    name = metric.replace(".", "_")
    return {s: points for s, points in values.items() if s.startswith(name + "{")}


def test_a_plan_at_10_ms_comes_and_goes_beside_one_at_1_s(
    run: Run, bridge: BridgeProcess, servers: tuple[Fuseki, Pmcd, VictoriaMetrics]
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
    late = sum(status["missing"].get(why, 0) for why in (LATE, SLOW_SOURCE))
    # Every point is in the store once: none was sent by two samplers.
    assert closes(status)
    assert status["written"] == sum(map(len, values.values()))
    coarse = {s: p for s, p in values.items() if not s.startswith("network")}
    for name in (*of(values, USER), "kernel_percpu_cpu_sys{cpu0}"):
        coarse[name] = {ms: 1 for ms in values[name] if ms % 1000 == 0}
    assert all(ms % 1000 == 0 for points in coarse.values() for ms in points)
    assert sum(absent(points, 1000) for points in coarse.values()) <= late
    fine = [ms for points in of(values, USER).values() for ms in points if ms % 1000]
    assert min(fine) < noticed_ms + 1000
    assert max(fine) < removed_ms + 1000
    ticks = sorted({*fine})
    between = {ms for ms in range(ticks[0], ticks[-1] + 1, 10) if ms % 1000}
    assert len({*between} - {*ticks}) <= late
    assert len(ticks) > 250


def test_a_series_goes_from_one_period_to_another_without_a_gap(
    run: Run, bridge: BridgeProcess, servers: tuple[Fuseki, Pmcd, VictoriaMetrics]
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
    late = sum(status["missing"].get(why, 0) for why in (LATE, SLOW_SOURCE))
    assert closes(status)
    assert status["written"] == sum(map(len, values.values()))
    whole = {
        name: {ms: 1.0 for ms in points if ms % 1000 == 0}
        for name, points in values.items()
        if not name.startswith("network")
    }
    assert sum(absent(points, 1000) for points in whole.values() if points) <= late
    assert absent(values["sample_milliseconds"], 100) <= late
    cpu0 = values["kernel_percpu_cpu_user{cpu0}"]
    assert any(ms % 100 for ms in cpu0)
    between = [ms for ms in cpu0 if ms % 100 == 0 and ms % 1000]
    assert (
        absent(dict.fromkeys(between, 1.0), 100)
        - len(
            [ms for ms in range(min(between), max(between) + 1, 100) if ms % 1000 == 0]
        )
        <= late
    )
