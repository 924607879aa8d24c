"""A calibration is saved, read back, and predicts costs."""

import json
from pathlib import Path

import pytest

from sampling.cost.errors import ModelError
from sampling.cost.estimate import DAY, estimate_added, estimate_all
from sampling.cost.load import AgentLoad, SamplingLoad
from sampling.cost.model import load_model, save_model
from tests.sampling.cost.calibrations import (
    BYTES_A_BLOCK,
    BYTES_A_POINT,
    LABELS,
    calibration,
    load,
    measured,
)

BEFORE, AFTER = load(1, 100, 100), load(11, 2100, 2100, 200)


def test_model_round_trips(tmp_path: Path) -> None:
    model, path = calibration(), tmp_path / "home" / "cost.json"
    save_model(path, model)
    found = load_model(path)
    assert found is not None
    assert estimate_all(found, AFTER) == estimate_all(model, AFTER)
    assert (found.host, found.date, found.agents) == (
        "n1",
        model.date,
        ["linux", "proc"],
    )
    shown = json.loads(path.read_text())["cpu"]["bridge"]
    assert shown["coefficients"]["fetches"]["value"] == pytest.approx(0.1, rel=1e-3)
    assert {"value", "error"} == shown["coefficients"]["base"].keys()
    assert shown["r2"] == pytest.approx(1)


def test_model_may_be_missing(tmp_path: Path) -> None:
    assert load_model(tmp_path / "cost.json") is None


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"format": "supertwin-cost/1"}', '{"format": "x"}', "[" * 9999],
)
def test_invalid_model_file_is_refused_with_the_fix(tmp_path: Path, text: str) -> None:
    (tmp_path / "cost.json").write_text(text)
    with pytest.raises(ModelError, match="cost.json is not a calibration"):
        load_model(tmp_path / "cost.json")


def test_model_without_runs_or_parts_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cost.json"
    save_model(path, calibration())
    whole = json.loads(path.read_text())
    for broken in ({"runs": []}, {"disk": {**whole["disk"], "parts": []}}):
        path.write_text(json.dumps(whole | broken))
        with pytest.raises(ModelError):
            load_model(path)


def test_model_predicts_the_measurements() -> None:
    found = estimate_all(calibration(), AFTER)
    for part, cpu in measured("", AFTER).cpu.items():
        assert found.cpu[part].value == pytest.approx(cpu, rel=1e-3)
    assert found.cpu_total.value == pytest.approx(sum(measured("", AFTER).cpu.values()))
    assert found.memory["bridge"].value == pytest.approx(52_100_000, rel=1e-3)
    assert (found.unmeasured, found.beyond) == ((), {})


def test_cost_of_a_plan_is_what_it_adds() -> None:
    model = calibration()
    found = estimate_added(model, BEFORE, AFTER)
    before, after = (measured("", of).cpu for of in (BEFORE, AFTER))
    for part, of in found.cpu.items():
        assert of.value == pytest.approx(after[part] - before[part], rel=1e-3)
    nothing = estimate_added(model, AFTER, AFTER)
    assert nothing.cpu_total.value == 0
    assert nothing.disk.value == 0


def test_day_on_disk_is_points_blocks_and_labels() -> None:
    found = estimate_all(calibration(), SamplingLoad(10, 1000, 1000, 100))
    blocks = 1000 * DAY / 8192
    known = BYTES_A_POINT * 1000 * DAY + BYTES_A_BLOCK * blocks + LABELS * 100
    assert found.disk.value == pytest.approx(known, rel=1e-3)
    slow = estimate_all(calibration(), SamplingLoad(1, 1, 0.01, 100))
    # Each series has a block of its own, however few points it has.
    known = BYTES_A_POINT * 0.01 * DAY + (BYTES_A_BLOCK + LABELS) * 100
    assert slow.disk.value == pytest.approx(known, rel=1e-3)


def test_twice_the_values_take_more_cpu() -> None:
    once, twice = (
        estimate_all(calibration(), load(10, values, values)) for values in (2000, 4000)
    )
    assert all(twice.cpu[part].value > of.value for part, of in once.cpu.items())


def test_extrapolation_factor_is_reported() -> None:
    found = estimate_all(calibration(), load(10, 18_000, 18_000))
    assert found.beyond["pmcd"] == pytest.approx(3)
    assert "linux" in found.beyond
    assert found.beyond["series"] == pytest.approx(3)


def test_unmeasured_agents_are_named() -> None:
    asked = SamplingLoad(
        1, 3, 3, 3, agents={name: AgentLoad(1, 1, 1) for name in ("jbd2", "gpu")}
    )
    found = estimate_all(calibration(), asked)
    assert found.unmeasured == ("gpu",)  # jbd2 works inside PMCD
    assert found.cpu.keys() == {"pmcd", "bridge", "store"}


def test_run_that_fell_behind_does_not_count() -> None:
    model = calibration()
    behind = measured("behind", load(1000, 1, 1), missing=0.5)
    spoiled = type(model)(**{**vars(model), "runs": [*model.runs, behind]})
    assert len(spoiled.usable) == len(model.runs)
    assert spoiled.cpu["pmcd"].most[0] == 100


def test_calibration_records_a_busy_machine() -> None:
    assert calibration(others=60.0).busy
    assert not calibration().busy
