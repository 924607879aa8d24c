"""POP metrics of real runs: printed, recorded, on the page, and over a series."""

import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.observations.pop.recorded import MPIRUN, build
from tests.observations.timeline.traces import read_trace
from tests.observed import outcome, runs
from tests.stack import HOST, Stack

pytestmark = [pytest.mark.e2e, pytest.mark.serial]

# On a busy machine sleeps end late, and the start of a program takes useful time.
LATE = 0.25
TAG = "pop-series"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    folder = tmp_path_factory.mktemp("programs")
    return cache(lambda kind: build(kind, folder))


def observed(stack: Stack, *words: str) -> tuple[str, str]:
    """Observe a command; return the IRI of its run and what was printed."""
    done = stack.run("observe", *words)
    ((how, iri),) = runs(done.stderr)
    assert (how, outcome(stack, iri)) == ("completed", "completed")
    return iri, done.stderr


def asked(stack: Stack, query: str, *words: str) -> list[dict[str, Any]]:
    found = stack.run("query", f"observations/{query}", *words, "--format", "json")
    rows: list[dict[str, Any]] = json.loads(found.stdout)
    return rows


def test_planted_imbalance_is_printed_recorded_and_shown(
    stack: Stack, built: Callable[[str], str]
) -> None:
    # Useful: 2 * 0.1 and 2 * 0.3 s in rank 0, twice that in rank 1.
    words = ("--pop", "--", *MPIRUN, built("hybrid"), "0", "0.1", "0.3")
    iri, printed = observed(stack, *words)
    (row,) = asked(stack, "pop", "--id", iri)
    assert (row["ranks"], row["threads"], row["missing"]) == (2, 4, None)
    assert float(row["loadBalance"]) == pytest.approx(0.5, abs=LATE)
    assert float(row["mpiLoadBalance"]) == pytest.approx(0.75, abs=LATE)
    assert float(row["openmpLoadBalance"]) == pytest.approx(0.667, abs=LATE)
    product = float(row["mpi"]) * float(row["openmp"])
    assert product == pytest.approx(float(row["efficiency"]), abs=1e-6)
    assert re.search(r"supertwin: OpenMP +0\.\d{3}", printed)
    threads = asked(stack, "thread-times", "--id", iri)
    assert [(t["rank"], t["thread"]) for t in threads] == [
        *((0, 0), (0, 1), (1, 0), (1, 1)),
    ]
    page = httpx.get(iri, headers={"Accept": "text/html"}).raise_for_status().text
    assert '<h2 id="efficiency">Parallel efficiency' in page
    assert '<th scope="row">OpenMP</th>' in page


def test_trace_is_in_the_timeline(
    stack: Stack, built: Callable[[str], str], tmp_path: Path
) -> None:
    words = ("--trace", "--", *MPIRUN, built("hybrid"), "0", "0.01", "0.02")
    iri, printed = observed(stack, *words)
    assert re.search(r"supertwin: OpenMP +0\.\d{3}", printed)
    assert re.search(r"supertwin: trace: \d+ times in MPI and OpenMP\n", printed)
    out = tmp_path / "run.pftrace"
    words = ("--format", "perfetto", "--out", str(out))
    stack.run("export", "observation", iri.rpartition("/")[2], *words)
    slices = read_trace([out.read_bytes()]).slices
    begin, end = slices["runs on " + HOST][-1][1:3]
    parallel = "OpenMP parallel region"
    for rank in (0, 1):
        first = slices[f"MPI and OpenMP / rank {rank}, thread 0"]
        assert [one.path for one in first if " / " not in one.path] == [
            *(parallel, parallel, "MPI_Barrier")
        ]
        assert f"{parallel} / OpenMP thread / OpenMP barrier" in {
            one.path for one in first
        }
        assert all(begin <= one.begin <= one.end <= end for one in first)
        other = slices[f"MPI and OpenMP / rank {rank}, thread 1"]
        tops = [one.path for one in other if " / " not in one.path]
        assert tops == ["OpenMP thread"] * 2


def test_run_without_times_says_why(stack: Stack) -> None:
    iri, printed = observed(stack, "--pop", "--", "true")
    assert "no parallel efficiency: no process used OpenMP or MPI" in printed
    (row,) = asked(stack, "pop", "--id", iri)
    assert row["efficiency"] is None
    assert "no process used OpenMP or MPI" in row["missing"]
    page = httpx.get(iri, headers={"Accept": "text/html"}).raise_for_status().text
    assert "no process used OpenMP or MPI" in page


def test_run_that_was_not_asked_has_no_analysis(stack: Stack) -> None:
    iri, _ = observed(stack, "--", "true")
    assert asked(stack, "pop", "--id", iri) == []


def test_series_scales_as_its_serial_part_allows(
    stack: Stack, built: Callable[[str], str]
) -> None:
    """One thread has all the work of two, and both have the same serial part."""

    def add(kind: Sequence[str], *words: str) -> None:
        observed(stack, "--pop", "--tag", TAG, "--", *kind, *words)

    one = ("mpirun", "--allow-run-as-root", "-n", "1", built("mpi"))
    add(one, "0.4", "0.4", "0")
    add((built("llvm"),), "0.4", "0.2", "0.2")
    found = json.loads(stack.run("scaling", TAG, "--format", "json").stdout)
    assert (found["host"], found["kind"]) == (HOST, "strong")
    first, second = found["runs"]
    assert (first["threads"], second["threads"]) == (1, 2)
    assert second["computation"] == pytest.approx(1.0, abs=LATE)
    assert second["efficiency"] == pytest.approx(1.2 / 1.6, abs=LATE)
    assert second["whole"] == pytest.approx(1.2 / 1.6, abs=LATE)
    amdahl, usl = found["fits"]
    # 0.4 of 1.2 s.
    serial = amdahl["parameters"]["serial"]["value"]
    assert serial == pytest.approx(1 / 3, abs=LATE)
    assert "3 numbers of threads" in usl["reason"]
    assert "Amdahl" in stack.run("scaling", TAG).stdout
    assert "Gustafson" in stack.run("scaling", TAG, "--weak").stdout


def test_series_that_does_not_exist_is_an_error(stack: Stack) -> None:
    done = stack.run("scaling", "no-such-tag", check=False)
    assert done.returncode == 2
    assert done.stderr.rstrip().endswith("[no-scaling-runs]")
