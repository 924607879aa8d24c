"""Calibrating on real servers, and an estimate against what a bridge then writes."""

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from sampling_cost.model import Model, load_model
from sampling_cost.runs import Asking, Run
from supertwin.cli.main import main
from supertwin.cost.calibration import calibrate
from supertwin.cost.counters import EVENTS
from supertwin.settings import Settings
from tests.network import still_network
from tests.sampler_bridge.servers import BridgeProcess, closes
from tests.servers import Fuseki, Pmcd, VictoriaMetrics

pytestmark = pytest.mark.serial

CPUS = ("kernel.percpu.cpu.user", "kernel.percpu.cpu.sys")
RSS = "proc.psinfo.rss"
FEW = [
    Run("idle", ()),
    Run("few", (Asking(CPUS, 200),)),
    Run("more", (Asking(CPUS, 20), Asking((RSS,), 200))),
    Run(
        "events",
        (Asking(tuple(name for e in EVENTS for name in (e.value, e.dutycycle)), 50),),
    ),
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def model(home: Path) -> Model:
    """Few runs, so that the test is quick: their errors are large."""
    settings = Settings(home=home, host="here")
    for _ in range(3):
        model = calibrate(settings, print, lambda _sizes, _process: FEW)
        # Of three seconds a busy machine may hold up a tenth.
        if all(run.missing < 0.1 for run in model.runs):
            break
    return model


def test_what_was_measured_is_kept(model: Model, home: Path) -> None:
    kept = load_model(home / "cost.json")
    assert kept is not None
    assert kept.runs == model.runs
    assert [run.title for run in kept.runs] == [run.title for run in FEW]
    assert kept.host == "here"
    assert {"supertwin", "kernel"} <= kept.versions.keys()
    assert [*home.iterdir()] == [home / "cost.json"]


def test_every_part_has_worked_more_the_more_was_asked(model: Model) -> None:
    idle, few, more, _ = model.runs
    for part in ("pmcd", "linux", "proc", "bridge", "store"):
        assert idle.cpu[part] < more.cpu[part], part
    assert few.load.fetches == pytest.approx(5)
    assert more.load.fetches == pytest.approx(55)
    assert more.load.series > few.load.series > idle.load.series == 0
    for run in model.runs:
        assert all(size > 1_000_000 for size in run.rss.values())
        assert run.others >= 0


def test_events_have_a_pmcd_of_their_own(model: Model) -> None:
    """Each of them has a value and a dutycycle for each CPU."""
    idle, *_, events = model.runs
    cpus = len(os.sched_getaffinity(0))
    assert events.load.fetches == pytest.approx(20)
    assert events.load.series == 2 * len(EVENTS) * cpus
    assert events.load.agents["perfevent"].values == 20 * events.load.series
    assert events.missing < 0.1
    assert "perfevent" in model.agents
    assert "perfevent" not in model.inside
    for part in ("pmcd", "perfevent", "bridge", "store"):
        assert idle.cpu[part] < events.cpu[part], part


def test_bytes_are_of_real_points(model: Model) -> None:
    """Coarse truths: no point takes more than it would without compression."""
    a_day = model.disk.a_day(86_400 * 100, 100)
    assert 0 < a_day.value / (86_400 * 100) < 16
    assert 20 < model.disk.sent < 300
    assert 10 < model.disk.labels < 5000


@pytest.fixture(scope="module")
def servers(
    emptied_fuseki: Fuseki, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Fuseki, Pmcd, VictoriaMetrics]]:
    folder = tmp_path_factory.mktemp("servers")
    with (
        Pmcd(folder / "pmcd", sample=True) as pmcd,
        VictoriaMetrics(folder / "store") as store,
    ):
        yield emptied_fuseki, pmcd, store


def test_an_estimate_is_what_the_bridge_then_writes(
    model: Model,
    home: Path,
    servers: tuple[Fuseki, Pmcd, VictoriaMetrics],
    tmp_path: Path,
) -> None:
    fuseki, pmcd, store = servers
    own = {"HOST": "here", "PMCD": pmcd.address, "SAMPLE_MAX_CPU": "1000"}
    settings = fuseki.environment(home)
    runner = CliRunner(env=settings | {f"SUPERTWIN_{k}": v for k, v in own.items()})

    def call(*words: str) -> str:
        done = runner.invoke(main, words)
        assert done.exit_code == 0, done.output
        return str(done.stdout)

    with still_network():  # an interface more is series more
        call("ingest")
        estimate = json.loads(
            call("sample", "estimate", *CPUS, "--period", "0.2s", "--json")
        )
        assert estimate["not_counted"] == []
        cpu = estimate["cpu_percent_of_a_core"]
        assert {"total", "pmcd", "bridge", "store"} <= cpu.keys()
        # Processes are counted now, by the PMCD that the twin is sampled from.
        of_processes = json.loads(
            call("sample", "estimate", RSS, "--period", "1s", "--json")
        )
        assert of_processes["series"] > 10
        assert of_processes["not_counted"] == []
        call("sample", "add", *CPUS, "--period", "0.2s")
        process = BridgeProcess(tmp_path / "out", pmcd.address, store.url)
        process.options |= {"fuseki": fuseki.url, "host": "here"}
        whole = json.loads(call("sample", "estimate", "--fleet", "--json"))
        with process:
            process.wait_for(lambda status: status["expected"] > 4 * whole["series"])
            assert process.end() == 0
    status, values = process.status(), store.values()
    assert closes(status)
    # A second has each tick that was not late: the fullest is what was foretold, less
    # what the bridge says is missing.
    seconds = Counter(ms // 1000 for points in values.values() for ms in points)
    fullest, foretold = max(seconds.values()), round(whole["points_per_second"])
    assert fullest <= foretold <= fullest + sum(status["missing"].values())
