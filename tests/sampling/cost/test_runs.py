"""The experimental design, on the metrics of a real PMCD."""

import numpy as np
import pytest

from sampling.cost.errors import CalibrationError
from sampling.cost.live import sizes_now, value_counts
from sampling.cost.load import load_of
from sampling.cost.runs import SamplingRun, designed_runs
from sampling.plan_file.plan import make_plan
from tests.servers import Pmcd


def rows(run: SamplingRun) -> list[dict[str, object]]:
    return [
        {
            "samplerName": name,
            "dbName": name.replace(".", "_"),
            "period": request.period_ms / 1000,
            "some": request.instance is not None,
            "instname": request.instance,
        }
        for request in run.requests
        for name in request.metrics
    ]


def test_runs_separate_fetches_files_and_values(pmcd: Pmcd) -> None:
    """Otherwise no fit could tell which of them costs how much."""
    sizes, process = sizes_now(pmcd.address)
    runs = designed_runs(sizes, process)
    assert not runs[0].requests and not runs[-1].requests
    loads = [load_of(make_plan(rows(run)), sizes) for run in runs]
    assert not any(load.unknown for load in loads)
    for part in ("pmcd", "linux", "proc", "bridge", "store"):
        x = np.array([(1.0, *load.terms(part)) for load in loads])
        assert np.linalg.matrix_rank(x / x.max(axis=0)) == x.shape[1], part
    assert any(load.points < load.values / 2 for load in loads)
    # All periods fit into a window of three seconds.
    assert all(
        3000 % request.period_ms == 0 for run in runs for request in run.requests
    )


def test_every_process_has_the_fetched_values(pmcd: Pmcd) -> None:
    sizes, process = sizes_now(pmcd.address)
    assert sizes["kernel.percpu.cpu.user"].agent == "linux"
    assert sizes["proc.psinfo.rss"].agent == "proc"
    assert process
    names = ["kernel.all.load", "kernel.percpu.cpu.user", "no.such.metric"]
    counted = value_counts(pmcd.address, names)
    assert counted == {name: sizes[name].values for name in names[:2]}


def test_without_a_pmcd_nothing_can_be_measured() -> None:
    with pytest.raises(CalibrationError):
        sizes_now("unix:///nowhere")
