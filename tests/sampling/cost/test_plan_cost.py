"""The cost of a plan on the command line, before it is added; no bridge runs."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from core.stores.endpoint import Endpoint
from sampling.cost.graph import loads, nobody_counts
from sampling.cost.model import save_model
from sampling.plan_file.graph_plan import read_plan
from sampling.sources.own_metrics import DOMAINS, OWN_METRICS
from supertwin.cli.main import main
from tests.ingest.documents import document
from tests.sampling.cost.calibrations import (
    BYTES_A_BLOCK,
    BYTES_A_POINT,
    LABELS,
    calibration,
)
from tests.sampling.plans.test_sample import REFUSED, SOCKET, USER, described, listed
from tests.servers import ROOT, Fuseki

Run = Callable[..., Result]

DAY = 86_400
# The monitor plan has the bridge's own metrics in addition to seven series of PCP.
OWN = sum(len(DOMAINS.get(metric.domain or "", "x")) for metric in OWN_METRICS)
ALL = 7 + OWN


@pytest.fixture(scope="module")
def twin(emptied_fuseki: Fuseki) -> Iterator[Endpoint]:
    with Endpoint(f"{emptied_fuseki.url}/twin") as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def settings(emptied_fuseki: Fuseki, home: Path) -> dict[str, str]:
    """The environment of the command line."""
    return {**emptied_fuseki.environment(home), "SUPERTWIN_HOST": "n1"}


@pytest.fixture(scope="module")
def run(settings: dict[str, str], home: Path) -> Run:
    """Runs the command line on a twin of n1, with settings; restores the plans."""

    def call(*words: str, **others: str) -> Result:
        given = {f"SUPERTWIN_{name}": value for name, value in others.items()}
        return CliRunner(env=settings | given).invoke(main, words)

    facts = home / "facts.json"
    facts.write_text(json.dumps(document(described())))
    done = call("ingest", "--probe", str(facts))
    assert done.exit_code == 0, done.output
    return call


@pytest.fixture
def calibrated(home: Path) -> Iterator[Path]:
    """A calibration of n1 where this command line looks for it."""
    path = home / "cost.json"
    save_model(path, calibration())
    yield path
    path.unlink()


def good(run: Run, *words: str, **settings: str) -> str:
    done = run("sample", *words, **settings)
    assert done.exit_code == 0, done.output
    return str(done.stdout)


def estimated(run: Run, *words: str) -> dict[str, Any]:
    done = run("sample", "estimate", *words, "--json")
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_points_of_a_plan_are_exact(run: Run, calibrated: Path, twin: Endpoint) -> None:
    before = read_plan(twin, "n1")
    some = estimated(run, USER, "--period", "20ms", *SOCKET, "socket=0")
    # Two of the four that monitor samples at 1 s change to 20 ms.
    assert some["points_per_second"] == pytest.approx(2 * 50 - 2)
    assert some["series"] == 0
    # PMCD gives all four at 20 ms, and still does at 1 s.
    assert some["fetched_per_second"] == pytest.approx(4 * 50)
    whole = estimated(run, USER, "--period", "20ms")
    assert whole["points_per_second"] == pytest.approx(4 * 50 - 4)
    assert whole["fetched_per_second"] == pytest.approx(4 * 50 - 4)
    slower = estimated(run, USER, "--period", "10s")
    assert slower["points_per_second"] == 0
    new = estimated(run, "odd.names", "--period", "10s")
    assert (new["points_per_second"], new["series"]) == (pytest.approx(0.1), 1)
    assert read_plan(twin, "n1") == before


def test_each_figure_has_its_interval_and_basis(run: Run, calibrated: Path) -> None:
    found = estimated(run, USER, "--period", "20ms")
    cpu = found["cpu_percent_of_a_core"]
    assert cpu.keys() == {"total", "pmcd", "linux", "bridge", "store"}
    for of in (*cpu.values(), *found["memory_bytes"].values()):
        assert 0 <= of["low"] <= of["value"] <= of["high"]
    parts = sum(of["value"] for part, of in cpu.items() if part != "total")
    assert cpu["total"]["value"] == pytest.approx(parts)
    assert found["agents_not_measured"] == []
    assert found["calibration"]["host"] == "n1"
    assert found["calibration"]["fits"]["bridge"]["r2"] > 0.99
    points = found["points_per_second"] * DAY
    known = BYTES_A_POINT * points + BYTES_A_BLOCK * 0
    assert found["disk_bytes_per_day"]["value"] == pytest.approx(known, rel=1e-3)


def test_estimate_is_printed_as_text(run: Run, calibrated: Path) -> None:
    words = ("estimate", USER, "--period", "20ms")
    output = good(run, *words)
    for part in (
        "it would add to n1:",
        "196 /s   in 0 new series",
        "CPU of one core",
        "  bridge",
        "disk",
        f"with it all plans of n1 are {ALL + 196} points/s in {ALL} series",
        "calibrated on n1, 2026-11-21 19:00 UTC, with 12 runs",
        "bridge: R² 1.000, worst residual",
    ):
        assert part in output, (part, output)
    assert "ssh" not in output
    fast = good(run, "estimate", USER, "--period", "1ms")
    assert "is 10 × the largest measured one" in fast


def test_estimate_for_a_remote_host_shows_network_and_cpu_source(
    run: Run, calibrated: Path
) -> None:
    words = ("estimate", USER, "--period", "20ms", "--host", "n1")
    output = good(run, *words, HOST="elsewhere")
    assert "network, ssh" in output
    save_model(calibrated, calibration(host="elsewhere", others=80.0))
    output = good(run, *words, HOST="elsewhere")
    assert "the agents' CPU is that of elsewhere: n1 was not measured" in output
    assert (
        "other work took 80 % of a core during the calibration: the intervals are wide"
        in output
    )


def test_damaged_calibration_is_named(run: Run, calibrated: Path) -> None:
    calibrated.write_text("{")
    done = run("sample", "estimate", USER, "--period", "20ms")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "[bad-cost-model]" in done.stderr


def test_metrics_with_changing_instances_are_omitted_without_a_bridge(
    run: Run, calibrated: Path, twin: Endpoint
) -> None:
    output = good(run, "estimate", "proc.psinfo.rss", "--period", "1s")
    assert "left out: proc.psinfo.rss: their instances come and go" in output
    found = estimated(run, "proc.psinfo.rss", "mem.util.free", "--period", "0.5s")
    assert found["not_counted"] == ["proc.psinfo.rss"]
    added = run("sample", "add", "proc.psinfo.rss", "--period", "1s", "--plan", "rss")
    assert "0 new series (not counted: proc.psinfo.rss): about" in added.stderr
    asked: list[str] = []
    loads(twin, None, lambda host: asked.append(host) or nobody_counts)
    assert asked == ["n1"], "each host's are counted there"
    good(run, "remove", "rss")


def test_estimate_gives_the_refusals_of_add(run: Run) -> None:
    for words, reason in REFUSED:
        if "--plan" in words:
            continue
        period = () if "--period" in words else ("--period", "10ms")
        done = run("sample", "estimate", *words, *period)
        assert (done.exit_code, done.stdout) == (2, ""), (words, done.output)
        assert reason in done.stderr, (words, done.stderr)
        assert done.stderr.count("\n") == 1
    for words, reason in (
        ((USER,), "--period"),
        (("--fleet", USER), "leave out METRIC"),
        (("--fleet", "--event", "msr::tsc"), "other options of a new plan"),
        (("--fleet", "--multiplex"), "other options of a new plan"),
        (("--hosts", "3", USER, "--period", "1s"), "--hosts needs --fleet"),
        (("--fleet", "--hosts", "0"), "--hosts"),
        (("--fleet", "--hosts", "2", "--host", "n7"), "[unknown-host]"),
        (("--fleet", "--host", "n7"), "[unknown-host]"),
    ):
        done = run("sample", "estimate", *words)
        assert (done.exit_code, done.stdout) == (2, ""), (words, done.output)
        assert reason in done.stderr


def test_plan_within_the_limits_is_added_with_a_line(
    run: Run, calibrated: Path
) -> None:
    done = run("sample", "add", USER, "--period", "0.5s", "--plan", "slow")
    assert (done.exit_code, done.stdout) == (0, "slow: 1 metric every 0.5s\n")
    assert "it adds 4 points/s in 0 new series: about" in done.stderr
    assert "a day on disk\n" in done.stderr
    good(run, "remove", "slow")


def test_plan_beyond_the_limits_needs_acceptance(
    run: Run, calibrated: Path, twin: Endpoint
) -> None:
    before = read_plan(twin, "n1")
    words = ("add", USER, "--period", "10ms", "--plan", "fast")
    cpu = {"SAMPLE_MAX_CPU": "1"}
    disk = {"SAMPLE_MAX_CPU": "1000", "SAMPLE_MAX_BYTES": "1"}
    for limits, message in (
        (cpu, "% of one CPU core, SUPERTWIN_SAMPLE_MAX_CPU is 1"),
        (disk, "bytes a day on disk, SUPERTWIN_SAMPLE_MAX_BYTES is 1"),
    ):
        done = run("sample", *words, **limits)
        assert (done.exit_code, done.stdout) == (2, "")
        assert message in done.stderr
        assert "[plan-too-costly]" in done.stderr
        assert read_plan(twin, "n1") == before
    assert good(run, *words, "--yes", **cpu) == "fast: 1 metric every 10ms\n"
    assert listed(run)["fast"]["metrics"] == 1
    good(run, "remove", "fast")


@pytest.mark.parametrize(("answer", "status"), [("n", 1), ("y", 0)])
def test_terminal_is_asked(
    run: Run, settings: dict[str, str], calibrated: Path, answer: str, status: int
) -> None:
    words = ("sample", "add", USER, "--period", "10ms", "--plan", "fast")
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "supertwin", *words],
        cwd=ROOT,
        env={**os.environ, **settings, "SUPERTWIN_SAMPLE_MAX_CPU": "1"},
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        os.write(ours, f"{answer}\n".encode())
        _, output = process.communicate(timeout=120)
    os.close(ours)
    os.close(theirs)
    assert process.returncode == status
    assert "% of one CPU core, SUPERTWIN_SAMPLE_MAX_CPU is 1). Add it? [y/N]" in output
    assert ("fast" in listed(run)) == (answer == "y")
    if answer == "y":
        good(run, "remove", "fast")


def test_fleet_estimate_is_the_sum_of_its_plans(run: Run, calibrated: Path) -> None:
    one = estimated(run, "--fleet")
    assert (one["hosts"], one["points_per_second"], one["series"]) == (
        {"n1": 1},
        ALL,
        ALL,
    )
    assert estimated(run, "--fleet", "--host", "n1") == one
    many = estimated(run, "--fleet", "--hosts", "1000")
    assert many["points_per_second"] == pytest.approx(1000 * ALL)
    assert many["series"] == 1000 * ALL
    series = 1000 * ALL
    each = BYTES_A_POINT * DAY + BYTES_A_BLOCK * DAY / 8192 + LABELS
    known = series * each
    assert many["disk_bytes_per_day"]["value"] == pytest.approx(known, rel=1e-3)
    kept = many["disk_bytes_in_retention"]["value"]
    assert kept == pytest.approx(90 * many["disk_bytes_per_day"]["value"])
    for part in ("bridge", "store"):
        cpu = "cpu_percent_of_a_core"
        assert many[cpu][part]["value"] > one[cpu][part]["value"]
    # A host's load does not grow with the number of hosts.
    assert many[cpu]["host"] == pytest.approx(one[cpu]["host"])
    output = good(run, "estimate", "--fleet", "--hosts", "1000")
    for part in ("1,000 hosts like n1:", "memory of store", "disk in 90 days"):
        assert part in output
    assert "bridge: the load is " in output
    assert "the bridge needs more than one core" in output
    good(run, "add", "odd.names", "--period", "0.1s", "--plan", "more")
    assert estimated(run, "--fleet")["points_per_second"] == pytest.approx(ALL + 10)
    good(run, "remove", "more")


def test_fleet_without_plans_is_refused(run: Run, twin: Endpoint) -> None:
    twin.update("DROP ALL")
    done = run("sample", "estimate", "--fleet")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "[no-such-plan]" in done.stderr
