"""Runs compared, judged by a baseline, taken away and brought back, on a stack."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from pyarrow import parquet
from rocrate.rocrate import ROCrate

from tests.servers import wait_until
from tests.stack import Stack

pytestmark = pytest.mark.e2e

_RUN = re.compile(r"supertwin: [a-z ]+ after [\d.]+ s: (\S+)")
_SAMPLED = ("--metrics", "kernel.all.pswitch,kernel.percpu.cpu.user", "--every", "10ms")


def ran(stack: Stack, *words: str) -> list[str]:
    """The IRIs of runs, once they are recorded."""
    done = stack.run("observe", *words)
    found = _RUN.findall(done.stderr)
    for iri in found:
        kept = stack.home / "observations" / iri.rsplit("/", 1)[1] / "recorded"
        wait_until(kept.exists, seconds=20)
    return found


def group_of(iri: str) -> str:
    return iri.rsplit("/", 1)[1].rpartition("-")[0]


@pytest.fixture(scope="module")
def quick(stack: Stack) -> str:
    return group_of(ran(stack, "--repeat", "3", "--", "sleep", "0.05")[0])


@pytest.fixture(scope="module")
def slow(stack: Stack) -> str:
    return group_of(ran(stack, "--repeat", "3", "--", "sleep", "0.4")[0])


@pytest.fixture(scope="module")
def sampled(stack: Stack) -> str:
    (found,) = ran(stack, *_SAMPLED, "--tag", "kept", "--", "sleep", "0.5")
    return found


def test_what_takes_longer_is_worse(stack: Stack, quick: str, slow: str) -> None:
    told = json.loads(stack.run("compare", quick, slow, "--json").stdout)
    duration = told["measures"][0]
    assert [one["number"] for one in duration["estimates"]] == [3, 3]
    (verdict,) = duration["verdicts"]
    assert verdict["word"] == "worse"
    assert verdict["change"] > 1
    assert verdict["low"] <= verdict["change"] <= verdict["high"]
    words = told["differences"]["https://w3id.org/supertwin/ns#argumentVector"]
    assert words == [['["sleep", "0.05"]'], ['["sleep", "0.4"]']]
    text = stack.run("compare", slow, quick).stdout
    assert "better" in text
    assert "Welch's t-test" in text


def test_what_is_not_recorded_cannot_be_compared(stack: Stack, quick: str) -> None:
    done = stack.run("compare", quick, "nothing", check=False)
    assert done.returncode == 2
    assert "no run and no group 'nothing' is recorded" in done.stderr
    assert stack.run("compare", quick, check=False).returncode == 2


def test_a_regression_exits_with_3(
    stack: Stack, quick: str, slow: str, sampled: str
) -> None:
    stack.run("baseline", "set", "before", quick)
    assert "before" in stack.run("baseline", "list").stdout
    assert stack.run("baseline", "check", "before", quick).returncode == 0
    done = stack.run("baseline", "check", "before", slow, check=False)
    assert done.returncode == 3
    assert "worse" in done.stdout
    tolerant = ("--tolerance", "100", "--more-is-better")
    assert stack.run("baseline", "check", "before", slow, *tolerant).returncode == 0
    one = stack.run("baseline", "check", "before", sampled, check=False)
    assert one.returncode == 2
    assert "one run proves nothing" in one.stderr
    none = stack.run("baseline", "check", "after", slow, check=False)
    assert none.returncode == 2
    assert "no baseline 'after'; there is before" in none.stderr


def statistics(stack: Stack, iri: str) -> Any:
    words = ("observations/statistics", "--id", iri, "--format", "json")
    return json.loads(stack.run("query", *words).stdout)


def test_a_run_comes_back_as_it_was(stack: Stack, sampled: str, tmp_path: Path) -> None:
    before = statistics(stack, sampled)
    assert {row["metric"] for row in before} == {
        "kernel.all.pswitch",
        "kernel.percpu.cpu.user",
    }
    for name in ("crate", "crate.zip"):
        stack.run("export", "observation", sampled, "--out", str(tmp_path / name))
    crate = ROCrate(tmp_path / "crate")
    action = crate.get(sampled)
    assert action.type == "CreateAction"
    assert action["description"] == "sleep 0.5"
    files = {one.id for one in action["result"]}
    assert {"observation.ttl", "series.csv", "run.py", "events.jsonl"} <= files
    assert crate.root_dataset["mentions"] == [action] or (
        crate.root_dataset["mentions"] == action
    )
    node = sampled.rsplit("/", 1)[1]
    graph = f"{stack.base}/graph/observation/{node}"
    httpx.post(
        f"{stack.fuseki}/twin/update", data={"update": f"DROP GRAPH <{graph}>"}
    ).raise_for_status()
    assert statistics(stack, sampled) == []
    back = stack.run("import", "observation", str(tmp_path / "crate.zip"))
    assert back.stdout.strip() == sampled
    assert statistics(stack, sampled) == before
    again = stack.run("import", "observation", str(tmp_path / "crate"))
    assert again.stdout.strip() == sampled


def test_samples_as_tables(stack: Stack, sampled: str, tmp_path: Path) -> None:
    for form in ("csv", "parquet", "jsonld"):
        out = str(tmp_path / f"run.{form}")
        stack.run("export", "observation", sampled, "--format", form, "--out", out)
    with (tmp_path / "run.csv").open() as text:
        rows = list(csv.DictReader(text))
    table = parquet.read_table(tmp_path / "run.parquet").to_pylist()
    assert len(rows) == len(table) > 40
    assert [float(row["value"]) for row in rows] == [row["value"] for row in table]
    document = json.loads((tmp_path / "run.jsonld").read_text())
    assert document["@context"] == f"{stack.base}/context.jsonld"


def test_a_crate_that_is_none_is_refused(stack: Stack, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = stack.run("import", "observation", str(tmp_path / "empty"), check=False)
    assert done.returncode == 2
    assert "is no RO-Crate" in done.stderr
    (tmp_path / "no.zip").write_text("no zip")
    done = stack.run("import", "observation", str(tmp_path / "no.zip"), check=False)
    assert done.returncode == 2
