"""Runs are compared, checked against a baseline, exported and imported, on a stack."""

import csv
import getpass
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pyarrow import parquet
from rdflib import Graph
from rdflib.compare import isomorphic
from rocrate.rocrate import ROCrate

from tests.command_line import run
from tests.observed import (
    asked,
    forget,
    observed_until_sampled,
    outcome,
    runs,
    statistics,
)
from tests.servers import VictoriaMetrics, wait_until
from tests.stack import Stack

pytestmark = [pytest.mark.e2e, pytest.mark.serial]

_LOAD = ("--metrics", "kernel.all.load", "--every", "50ms")
_SAMPLED = ("--metrics", "kernel.all.pswitch,kernel.percpu.cpu.user", "--every", "50ms")
_SERIES = {"kernel_all_pswitch", "kernel_percpu_cpu_user"}
# The store has this many samples of the first series before the run ends.
_SAMPLES = 20


def ran(stack: Stack, *words: str) -> list[str]:
    """Return the IRIs of runs, once they are recorded."""
    found = runs(stack.run("observe", *words, check=False).stderr)
    for _, iri in found:
        outcome(stack, iri)
    return [iri for _, iri in found]


def group_of(iri: str) -> str:
    return iri.rsplit("/", 1)[1].rpartition("-")[0]


def steady(stack: Stack, seconds: float) -> str:
    """Return a group of three runs that sleep so long; repeat it if one is delayed."""
    found: list[str] = []

    def is_steady() -> bool:
        iris = ran(stack, "--repeat", "3", *_LOAD, "--", "sleep", f"{seconds}")
        found[:] = [group_of(iris[0])]
        rows = [row for iri in iris for row in query(stack, "runs", iri)]
        assert len(rows) == 3
        is_found = max(float(row["seconds"]) for row in rows) < seconds + 0.5
        if not is_found:
            forget(stack, *found)
        return is_found

    wait_until(is_steady, what=f"three runs of {seconds} s")
    return found[0]


def query(stack: Stack, name: str, id_: str) -> Any:
    words = (f"observations/{name}", "--id", id_, "--format", "json")
    return json.loads(stack.run("query", *words).stdout)


@pytest.fixture(scope="module")
def quick(stack: Stack) -> str:
    return steady(stack, 0.3)


@pytest.fixture(scope="module")
def slow(stack: Stack) -> str:
    return steady(stack, 2)


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file that the sampled run reads to its end."""
    return tmp_path_factory.mktemp("sampled") / "gate"


@pytest.fixture(scope="module")
def sampled(stack: Stack, gate: Path) -> str:
    added = ("--env", "MODE=fast", "--env", "MODE_TOKEN=hidden", "--tag", "kept")
    series = "kernel_all_pswitch"
    return observed_until_sampled(stack, gate, series, _SAMPLES, *_SAMPLED, *added)


def test_longer_duration_is_worse(stack: Stack, quick: str, slow: str) -> None:
    document = json.loads(stack.run("compare", quick, slow, "--json").stdout)
    duration = document["measures"][0]
    assert [one["number"] for one in duration["estimates"]] == [3, 3]
    (verdict,) = duration["verdicts"]
    assert verdict["word"] == "worse"
    assert verdict["change"] > 1
    assert 0 < verdict["low"] < verdict["change"] < verdict["high"]
    words = document["differences"]["https://w3id.org/supertwin/ns#argumentVector"]
    assert words == [['["sleep", "0.3"]'], ['["sleep", "2"]']]
    text = stack.run("compare", slow, quick).stdout
    assert "better" in text
    assert "Welch's t-test" in text


def rows_of(path: str) -> list[dict[str, str]]:
    with Path(path).open() as text:
        return list(csv.DictReader(text))


def test_series_of_runs_are_overlaid(
    stack: Stack, sampled: str, quick: str, tmp_path: Path
) -> None:
    words = ("compare", quick, sampled, "--series", "kernel.all.pswitch")
    rows = list(csv.DictReader(stack.run(*words).stdout.splitlines()))
    assert {(row["group"], row["run"]) for row in rows} == {("2", sampled)}
    seconds = [float(row["seconds"]) for row in rows]
    assert seconds == sorted(seconds)
    (run,) = query(stack, "runs", sampled)
    assert 0 < seconds[0] < seconds[-1] <= float(run["seconds"]) + 0.02
    out = str(tmp_path / "samples.csv")
    stack.run("export", "observation", sampled, "--format", "csv", "--out", out)
    stored = [row for row in rows_of(out) if row["series"] == "kernel_all_pswitch"]
    assert len(stored) >= _SAMPLES
    # One rate between two neighbouring samples.
    assert len(seconds) == len(stored) - 1
    (line,) = json.loads(stack.run(*words, "--json").stdout)["series"]
    assert line["per_second"]
    assert line["seconds"] == seconds
    assert line["values"] == [float(row["value"]) for row in rows]
    (row,) = [r for r in statistics(stack, sampled) if r["metric"] == line["metric"]]
    # The statistics wait two seconds for samples, so the last ones may be missing.
    assert _SAMPLES <= row["samples"] <= len(stored)
    first = line["values"][: row["samples"] - 1]
    assert max(first) == pytest.approx(float(row["maximum"]))
    none = stack.run("compare", quick, sampled, "--series", "no.such", check=False)
    assert none.returncode == 2
    assert "[not-measured]" in none.stderr


def test_unknown_run_cannot_be_compared(stack: Stack, quick: str) -> None:
    done = stack.run("compare", quick, "nothing", check=False)
    assert done.returncode == 2
    assert "[no-such-observation]" in done.stderr
    assert stack.run("compare", quick, check=False).returncode == 2


def test_regression_exits_with_3(
    stack: Stack, quick: str, slow: str, sampled: str
) -> None:
    stack.run("baseline", "set", "before", quick)
    assert "before" in stack.run("baseline", "list").stdout
    done = stack.run("baseline", "check", "before", slow, check=False)
    assert done.returncode == 3
    assert "worse" in done.stdout
    more = stack.run("baseline", "check", "before", slow, "--more-is-better")
    assert "better: +" in more.stdout and "; tolerance ±5 %" in more.stdout
    stack.run("baseline", "set", "long", slow)
    for tolerance, word in ((100, "equivalent"), (0, "undecided")):
        words = ("--tolerance", str(tolerance), "--json")
        same = stack.run("baseline", "check", "long", slow, *words, check=False)
        verdict = json.loads(same.stdout)["verdict"]
        assert (verdict["word"], verdict["tolerance"]) == (word, tolerance / 100)
        assert same.returncode == (4 if word == "undecided" else 0)
    one = stack.run("baseline", "check", "before", sampled, check=False)
    assert one.returncode == 4
    assert "undecided: one run does not show how much runs vary" in one.stderr
    state = ("baseline", "check", "before", slow, "--metric", "kernel.all.load")
    refused = stack.run(*state, check=False)
    assert refused.returncode == 2
    assert "[not-comparable]" in refused.stderr
    none = stack.run("baseline", "check", "after", slow, check=False)
    assert none.returncode == 2
    assert "[unknown-baseline]" in none.stderr


def test_failed_run_is_not_better(stack: Stack, slow: str) -> None:
    stack.run("baseline", "set", "slow", slow)
    failed = group_of(ran(stack, "--repeat", "3", "--", "false")[0])
    done = stack.run("baseline", "check", "slow", failed, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "outcome: completed in the baseline, failed in these" in done.stderr


def test_baseline_needs_ended_runs_and_can_be_removed(
    stack: Stack, quick: str, sampled: str, gate: Path
) -> None:
    (killed,) = ran(stack, "--timeout", "0.1", "--", "sleep", "9")
    done = stack.run("baseline", "set", "none", killed, check=False)
    assert done.returncode == 2
    assert "[not-comparable]" in done.stderr
    stack.run("baseline", "set", "one", sampled)
    done = stack.run("baseline", "check", "one", killed, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "[not-comparable]" in done.stderr
    done = stack.run("baseline", "check", "one", quick, check=False)
    assert f"command: cat {gate} in the baseline, sleep 0.3 in these" in done.stderr
    assert "undecided: the baseline is one run" in done.stderr
    for name in ("", ".", "x" * 101):
        done = stack.run("baseline", "set", name, quick, check=False)
        assert done.returncode == 2
        assert "[bad-baseline-name]" in done.stderr
    stack.run("baseline", "remove", "one")
    assert "one" not in stack.run("baseline", "list").stdout.split()
    assert stack.run("baseline", "remove", "one", check=False).returncode == 2


def test_exported_run_is_restored_unchanged(
    stack: Stack, sampled: str, gate: Path, tmp_path: Path
) -> None:
    before = statistics(stack, sampled)
    requested = asked(stack, f"<{sampled}> st:addedVariable ?v ; st:requestedMetric ?m")
    assert {row["v"] for row in requested} == {"MODE=fast", "MODE_TOKEN"}
    assert {row["metric"] for row in before} == {
        "kernel.all.pswitch",
        "kernel.percpu.cpu.user",
    }
    for name in ("crate", "crate.zip"):
        stack.run("export", "observation", sampled, "--out", str(tmp_path / name))
    crate = ROCrate(tmp_path / "crate")
    action = crate.get(sampled)
    assert action.type == "CreateAction"
    assert action["description"] == f"cat {gate}"
    files = {one.id for one in action["result"]}
    assert {"observation.ttl", "series.csv", "events.jsonl"} <= files
    assert "run.py" in {one.id for one in action["object"]}
    people = [one["name"] for one in action["agent"]]
    assert people == [getpass.getuser(), "the owner of the state"]
    assert crate.root_dataset["author"] == action["agent"]
    variables = action["environment"]
    assert {"MODE"} == {one["name"] for one in variables if "MODE" in one["name"]}
    assert crate.root_dataset["mentions"] == [action] or (
        crate.root_dataset["mentions"] == action
    )
    node = sampled.rsplit("/", 1)[1]
    graph = f"{stack.base}/graph/observation/{node}"
    httpx.post(
        f"{stack.fuseki}/twin/update", data={"update": f"DROP GRAPH <{graph}>"}
    ).raise_for_status()
    assert statistics(stack, sampled) == []
    # A machine without a sign cannot be distinguished from others: --confirm is needed.
    zipped = str(tmp_path / "crate.zip")
    back = stack.run("import", "observation", zipped, "--confirm")
    assert back.stdout.strip() == sampled
    assert statistics(stack, sampled) == before
    found = asked(stack, f"<{sampled}> st:addedVariable ?v ; st:requestedMetric ?m")
    assert sorted(found, key=str) == sorted(requested, key=str)
    again = stack.run("import", "observation", str(tmp_path / "crate"))
    assert again.stdout.strip() == sampled


@pytest.fixture
def elsewhere(stack: Stack, tmp_path: Path) -> Iterator[dict[str, str]]:
    """Return the environment of an installation with other IRIs and series store."""
    base = "http://elsewhere.example"
    with VictoriaMetrics(tmp_path / "store") as store:
        yield stack.env | {
            "SUPERTWIN_BASE": base,
            "SUPERTWIN_HOME": str(tmp_path / "home"),
            "SUPERTWIN_FUSEKI_USER": "supertwin",
            "SUPERTWIN_FUSEKI_PASSWORD": stack.fuseki.split(":")[2].partition("@")[0],
            "SUPERTWIN_STORE_READ_URL": store.url,
            "SUPERTWIN_STORE_WRITE_URL": store.url,
        }
    # The graph store is shared.
    quad, ours = "GRAPH ?g { ?s ?p ?o }", f"FILTER STRSTARTS(STR(?g), '{base}')"
    update = f"DELETE {{ {quad} }} WHERE {{ {quad} {ours} }}"
    httpx.post(
        f"{stack.fuseki}/twin/update", data={"update": update}
    ).raise_for_status()


def test_exported_run_is_equal_in_another_installation(
    stack: Stack, sampled: str, elsewhere: dict[str, str], tmp_path: Path
) -> None:
    there, base = tmp_path / "there", elsewhere["SUPERTWIN_BASE"]
    stack.run("export", "observation", sampled, "--out", str(tmp_path / "crate"))
    done = run(elsewhere, "import", "observation", str(tmp_path / "crate"))
    assert done.stderr == ""
    node = sampled.replace(stack.base, base)
    assert done.stdout.strip() == node
    done = run(elsewhere, "export", "observation", node, "--out", str(there))
    assert done.returncode == 0, done.stderr
    for name in ("series.csv", "run.py", "events.jsonl"):
        assert (there / name).read_bytes() == (tmp_path / "crate" / name).read_bytes()
    assert {row["series"] for row in rows_of(str(there / "series.csv"))} == _SERIES
    output = (tmp_path / "crate/observation.ttl").read_text().replace(stack.base, base)
    assert isomorphic(
        Graph().parse(data=output), Graph().parse(there / "observation.ttl")
    )


def test_samples_are_exported_as_tables(
    stack: Stack, sampled: str, tmp_path: Path
) -> None:
    for form in ("csv", "parquet", "jsonld"):
        out = str(tmp_path / f"run.{form}")
        stack.run("export", "observation", sampled, "--format", form, "--out", out)
    rows = rows_of(str(tmp_path / "run.csv"))
    table = parquet.read_table(tmp_path / "run.parquet").to_pylist()
    assert {row["series"] for row in rows} == _SERIES
    assert len(rows) >= 2 * _SAMPLES
    assert [float(row["value"]) for row in rows] == [row["value"] for row in table]
    document = json.loads((tmp_path / "run.jsonld").read_text())
    assert document["@context"] == f"{stack.base}/context.jsonld"


def test_invalid_crate_is_refused(stack: Stack, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = stack.run("import", "observation", str(tmp_path / "empty"), check=False)
    assert done.returncode == 2
    assert "[bad-crate]" in done.stderr
    (tmp_path / "no.zip").write_text("no zip")
    done = stack.run("import", "observation", str(tmp_path / "no.zip"), check=False)
    assert done.returncode == 2
