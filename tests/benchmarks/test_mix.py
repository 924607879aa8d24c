"""Loops with the mix of a run: their program, and where the mix comes from."""

import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace

import pytest

from benchmarks.errors import MixError
from benchmarks.mix import NAME, Mix, mix_of_run
from benchmarks.programs import Target, compiled
from benchmarks.results import Result, read_results
from benchmarks.suites import FULL
from core.stores.endpoint import Endpoint
from ontology.iris import Iris
from tests.queries.cases import FOLDER, load_data
from tests.servers import Fuseki

BASE = "http://localhost:8000"
GIVEN = Mix(0.25, 1 << 20)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield compiled(NAME, GIVEN.suite().flags, Target("n1")).path


@pytest.fixture(scope="module")
def twin(emptied_fuseki: Fuseki) -> Iterator[Endpoint]:
    with Endpoint(f"{emptied_fuseki.url}/twin") as found:
        for graph in load_data(FOLDER / "hosts" / "benchmarks.trig").graphs():
            found.put_graph(str(graph.identifier), graph)
        yield found


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.mark.parametrize("intensity", [0.03125, 0.25, 8.0])
@pytest.mark.parametrize("stride", [64, 4096])
def test_loop_has_the_mix(program: str, intensity: float, stride: int) -> None:
    words = Mix(intensity, 4 << 20, stride).words()
    done = run(program, "6", "0.001", *words)
    assert done.returncode == 0, done.stderr
    work, traffic = read_results(done.stdout)
    assert (work.unit, traffic.unit) == ("FLOPS", "BYTE-PER-SEC")
    assert work.threads == len(os.sched_getaffinity(0))
    assert work.value / traffic.value == pytest.approx(intensity)
    assert work.size == pytest.approx(4 << 20, rel=0.2)
    assert work.variant != traffic.variant


def test_loop_without_operations_moves_bytes(program: str) -> None:
    (found,) = read_results(run(program, "6", "0.001", "65536", "1", "0").stdout)
    assert found.unit == "BYTE-PER-SEC"


@pytest.mark.parametrize(
    "words",
    [
        ("1",),
        ("0", "1", "64", "1", "1"),
        ("1", "1", "1", "1", "1"),
        ("1", "0.001", "1024", "1048576", "1"),
    ],
)
def test_bad_arguments_of_the_program_are_named(
    program: str, words: tuple[str, ...]
) -> None:
    done = run(program, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("lacking", "option"),
    [
        (Mix(), "--intensity"),
        (Mix(1.0), "--footprint"),
        (Mix(1.0, 1, 65), "--stride"),
        (Mix(1.0, 1024, 64 << 20), "--footprint 1024 is .* at least 1073741824 bytes"),
        (Mix(1.0, 1024, threads=2), "--threads 2: give at least 2048 bytes"),
        (Mix(1e4, 10**9), "needs about 21[0-9]{3} s: .* --footprint or --intensity"),
        (Mix(0.0, 10**15), "--footprint"),
        (Mix(1e6, 10**6), "--intensity of at most 10000"),
    ],
)
def test_mix_without_a_loop_names_the_option(lacking: Mix, option: str) -> None:
    with pytest.raises(MixError, match=option) as caught:
        lacking.words()
    assert caught.value.code == "no-mix"


@pytest.mark.filterwarnings(
    "ignore:(Dataset.default_context|Dataset.contexts|ConjunctiveGraph) is deprecated"
)
def test_mix_of_a_run_may_be_replaced(twin: Endpoint) -> None:
    found = mix_of_run(twin, Iris(BASE), "g", Mix(footprint=1 << 20))
    assert found == Mix(2.0, 1 << 20, threads=2, rate=30.0)
    assert mix_of_run(twin, Iris(BASE), "g", Mix(4.0, 1, 128)).intensity == 4.0
    with pytest.raises(MixError, match="no run none"):
        mix_of_run(twin, Iris(BASE), "none", GIVEN)


def test_time_of_a_loop_depends_on_its_mix() -> None:
    small, large = Mix(1.0, 1 << 20), Mix(1.0, 10**10)
    assert small.seconds < 5
    assert large.seconds == pytest.approx(17 * 2.5, rel=0.1)
    assert replace(large, threads=10).seconds < 10
    assert large.suite().seconds(FULL) == large.seconds


def test_run_is_compared_with_the_loop() -> None:
    loop = Result("mix", "FLOPS", 2, 4e9, 4e9, 6)
    said = Mix(1.0, 1, rate=1e9).compared([loop])
    assert said == "the run: 1 GFLOP/s, 25% of this loop"
    assert Mix(1.0, 1).compared([loop]) == ""
