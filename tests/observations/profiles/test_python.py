"""Functions of Python that CPython names for perf."""

from pathlib import Path

import pytest

from observations.profiles.perf import Stacks
from observations.profiles.profile import Profile, profile_of
from tests.observations.profiles.recorded import build, run, shares

LINES = (
    b"7 \n",
    b"\t 1249 PyLong_FromLong (/usr/bin/python3.12)\n",
    b"\t 2abd _PyEval_EvalFrameDefault (/usr/bin/python3.12)\n",
    b"\t 7f00 py::Solver.step:/src/solver.py (/tmp/perf-7.map)\n",
    b"\tffffffffffffffff [unknown] ([unknown])\n",
    b"\n",
    b"7 \n",
    b"\t 7f80 py::_find_and_load:<frozen importlib._bootstrap> (/tmp/perf-7.map)\n",
    b"\t 7fa0 other (/tmp/perf-7.map)\n",
    b"\n",
)


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    """The profile of a program that names its generated code as CPython does."""
    folder = tmp_path_factory.mktemp("generated")
    events = run(build(folder, name="generated", source="generated"))
    Path(f"/tmp/perf-{events['started']['pid']}.map").unlink()
    return profile_of(events["profile"])


def test_function_of_python_has_its_name_and_its_file() -> None:
    python = "/usr/bin/python3.12"
    evaluate = ("_PyEval_EvalFrameDefault", python)
    frozen = ("_find_and_load", "<frozen importlib._bootstrap>")
    assert Stacks(LINES, own=9).counts == {
        (("Solver.step", "/src/solver.py"), evaluate, ("PyLong_FromLong", python)): 1,
        (("other", "[generated code]"), frozen): 1,
    }


def test_generated_code_of_a_process_is_found_by_its_map(profile: Profile) -> None:
    assert profile.reason == ""
    assert shares(profile)["Solver.step"].own > 0.9
    (step,) = {one for one in profile.functions() if one.name == "Solver.step"}
    assert (step.binary, step.build_id, step.line) == ("/src/solver.py", "", 0)
