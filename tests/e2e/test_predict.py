"""A model of real runs: fitted, kept, predicting, and gone with its runs."""

import json
from typing import Any

import httpx
import pytest

from tests.observed import outcome, runs, wait_until_closed
from tests.stack import Stack

pytestmark = [pytest.mark.e2e, pytest.mark.serial]

TAG = "sleeper"


def observed(stack: Stack, n: int, *command: str) -> str:
    words = ("observe", "--tag", TAG, "--tag", f"n={n}", "--", *command)
    ((_, iri),) = runs(stack.run(*words, check=False).stderr)
    outcome(stack, iri)
    wait_until_closed(stack, iri)
    return iri


def predicted(stack: Stack, *words: str) -> Any:
    return json.loads(stack.run("predict", TAG, *words, "--format", "json").stdout)


def test_real_runs_predict_another_one(stack: Stack) -> None:
    few = stack.run("predict", TAG, "--set", "n=3", check=False)
    assert (few.returncode, "[no-tagged-runs]" in few.stderr) == (2, True)
    iris = [observed(stack, n, "sleep", str(n / 10)) for n in (2, 4, 8, 12)]
    observed(stack, 6, "sh", "-c", "exit 3")
    found = predicted(stack, "--set", "n=6")
    assert {run["iri"] for run in found["runs"]} == {*iris}
    assert found["left_out"] == {"failed": 1}
    # Sleeps end late on a busy machine, and never early.
    assert 0.5 < found["prediction"]["seconds"] < 1.2
    assert found["prediction"]["low"] < 0.6 + 0.2
    assert found["prediction"]["beyond"] == []
    text = stack.run("predict", TAG, "--set", "n=60")
    assert "left out: 1 failed" in text.stdout
    assert "n 60 (measured: 2 to 12) was not measured" in text.stderr
    answer = httpx.get(found["model"], headers={"Accept": "application/ld+json"})
    assert "modelFormula" in answer.raise_for_status().text
    term = httpx.get(f"{found['model']}/term/1", headers={"Accept": "text/turtle"})
    assert "termTime" in term.raise_for_status().text
    # Certainly slower than 0.2 s.
    slow = observed(stack, 2, "sleep", "3")
    check = stack.run("predict", TAG, "--check", slow, check=False)
    assert (check.returncode, "n 2: 3" in check.stdout) == (3, True)
    assert check.stdout.rstrip().endswith("worse")
    stack.run("forget", "--yes", iris[0])
    listed = stack.run("query", "observations/models", "--tag", TAG, "--format", "json")
    assert json.loads(listed.stdout) == []


def test_wrong_words_are_refused(stack: Stack) -> None:
    done = stack.run("predict", TAG, "--set", "n", check=False)
    assert (done.returncode, "NAME=NUMBER" in done.stderr) == (2, True)
    done = stack.run("predict", TAG, "--check", "a", "--threads", "2", check=False)
    assert (done.returncode, "[bad-usage]" in done.stderr) == (2, True)
