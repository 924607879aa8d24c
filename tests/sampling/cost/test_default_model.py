"""Estimates and limits by the default model, before a calibration of this machine."""

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

from core.settings.settings import Settings
from ontology.selectors import series_name
from sampling.cost.estimate import estimate_all
from sampling.cost.load import FetchSize, SamplingLoad, load_of
from sampling.cost.model import BUSY, DEFAULT, default_model, save_model
from sampling.plan_file.monitor import load_monitor
from sampling.plan_file.plan import make_plan
from supertwin.cli.main import main
from tests.ingest.documents import document
from tests.sampling.cost.calibrations import calibration
from tests.sampling.plans.test_sample import USER, described, listed
from tests.servers import ROOT, Fuseki

Run = Callable[..., Result]

FIX = "`supertwin sample calibrate` measures this machine"
FAST = ("sample", "add", USER, "--period", "1ms", "--plan", "fast")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def settings(emptied_fuseki: Fuseki, home: Path) -> dict[str, str]:
    return {**emptied_fuseki.environment(home), "SUPERTWIN_HOST": "n1"}


@pytest.fixture(scope="module")
def run(settings: dict[str, str], home: Path) -> Run:
    """Runs the command line on a twin of n1 that has just been loaded."""

    def call(*words: str, **others: str) -> Result:
        given = {f"SUPERTWIN_{name}": value for name, value in others.items()}
        return CliRunner(env=settings | given).invoke(main, words)

    facts = home / "facts.json"
    facts.write_text(json.dumps(document(described())))
    done = call("ingest", "--probe", str(facts))
    assert done.exit_code == 0, done.output
    return call


def good(run: Run, *words: str, **settings: str) -> str:
    done = run("sample", *words, **settings)
    assert done.exit_code == 0, done.output
    return str(done.stdout)


def estimated(run: Run, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(good(run, "estimate", *words, "--json"))
    return found


@pytest.fixture
def calibrated(home: Path) -> Iterator[None]:
    save_model(home / "cost.json", calibration())
    yield
    (home / "cost.json").unlink()


def test_default_model_names_its_machine_and_error() -> None:
    model, kept = default_model(), json.loads(DEFAULT.read_text())
    assert model.is_default
    assert {"cpu", "kernel", "pcp", "supertwin"} <= model.versions.keys()
    assert {"linux", "proc", "perfevent"} <= {*model.agents}
    assert kept["spread"]["calibrations"] >= 5
    assert kept["spread"]["busy_means_percent_of_a_core"] == BUSY
    for part, factor in kept["spread"]["factors"].items():
        assert 1 <= factor <= model.error[part], part


def test_estimates_before_a_calibration_name_the_default_model(run: Run) -> None:
    words = (USER, "--period", "20ms")
    for message in (good(run, "estimate", *words), good(run, "estimate", "--fleet")):
        assert "this machine is not calibrated: by the default model" in message
        assert "measured on" in message
        assert "on other machines it may be wrong: cpu by a factor of" in message
        assert FIX in message
    for found, part in (
        (estimated(run, *words), "total"),
        (estimated(run, "--fleet"), "host"),
    ):
        basis = found["calibration"]
        assert basis["default"]
        cpu, factor = (
            found["cpu_percent_of_a_core"][part],
            basis["error_factors"]["cpu"],
        )
        assert factor > 1
        assert cpu["low"] * factor <= cpu["value"] <= cpu["high"] / factor


def test_calibration_replaces_the_default_model(
    run: Run, home: Path, request: pytest.FixtureRequest
) -> None:
    words = (USER, "--period", "20ms")
    before = estimated(run, *words)
    request.getfixturevalue("calibrated")
    after = estimated(run, *words)
    assert (before["calibration"]["default"], after["calibration"]["default"]) == (
        True,
        False,
    )
    assert after["calibration"]["host"] == "n1"
    assert "default" not in good(run, "estimate", *words)
    assert before["points_per_second"] == after["points_per_second"]


def test_plan_within_the_limit_is_added_naming_the_model(run: Run) -> None:
    done = run("sample", "add", USER, "--period", "0.5s", "--plan", "slow")
    assert (done.exit_code, done.stdout) == (0, "slow: 1 metric every 0.5s\n")
    assert f"a day on disk, by the default model: {FIX}" in done.stderr
    good(run, "remove", "slow")


def test_plan_beyond_the_limit_is_refused(run: Run) -> None:
    done = run(*FAST)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "by the default model, SUPERTWIN_SAMPLE_MAX_CPU is 25" in done.stderr
    assert f"{FIX}; or sample less often" in done.stderr
    assert "fast" not in listed(run)
    assert run(*FAST, "--yes").exit_code == 0
    good(run, "remove", "fast")


def between(found: dict[str, float]) -> str:
    """A limit above an estimate and below its upper end."""
    return str((found["value"] + found["high"]) / 2)


def test_uncertain_estimate_asks_on_a_terminal_only(
    run: Run, settings: dict[str, str]
) -> None:
    words = (USER, "--period", "20ms")
    limit = between(estimated(run, *words)["cpu_percent_of_a_core"]["total"])
    add = ("sample", "add", *words, "--plan", "unsure")
    assert run(*add, SAMPLE_MAX_CPU=limit).exit_code == 0
    good(run, "remove", "unsure")
    status, output = on_a_terminal(settings | {"SUPERTWIN_SAMPLE_MAX_CPU": limit}, *add)
    assert status == 1
    assert "% of one CPU core at most, by the default model" in output
    assert "Add it? [y/N]" in output
    assert "unsure" not in listed(run)


def test_own_calibration_asks_by_its_estimate_only(
    run: Run, settings: dict[str, str], calibrated: None
) -> None:
    words = (USER, "--period", "20ms")
    limit = between(estimated(run, *words)["cpu_percent_of_a_core"]["total"])
    add = ("sample", "add", *words, "--plan", "sure")
    status, output = on_a_terminal(settings | {"SUPERTWIN_SAMPLE_MAX_CPU": limit}, *add)
    assert (status, "Add it?" in output) == (0, False), output
    good(run, "remove", "sure")


def on_a_terminal(env: dict[str, str], *words: str) -> tuple[int, str]:
    """Exit status and stderr of a command whose prompt is answered with no."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "supertwin", *words],
        cwd=ROOT,
        env={**os.environ, **env},
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        os.write(ours, b"n\n")
        _, output = process.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    return process.returncode, output


@pytest.mark.parametrize("cpus", [2, 64, 256])
def test_monitor_set_is_within_the_limits(cpus: int) -> None:
    """Also by the upper end: the plan that every host samples needs no question."""
    names = [name.replace("*", "x") for name in load_monitor()]
    sizes = {
        name: FetchSize("linux", cpus if ".percpu." in name else 16) for name in names
    }
    row = {"period": "1.000", "some": False, "instname": None}
    plan = make_plan(
        [{**row, "samplerName": n, "dbName": series_name(n)} for n in names]
    )
    load = load_of(plan, sizes)
    assert load.series > 10 * cpus
    cost = estimate_all(default_model(), load)
    limits = Settings()
    assert cost.cpu_total.high < limits.sample_max_cpu
    assert cost.disk.high < limits.sample_max_bytes
    assert (
        estimate_all(default_model(), SamplingLoad()).cpu_total.high
        < limits.sample_max_cpu
    )
