"""A profile of a real run: printed, recorded, on its page, compared and exported."""

import gzip
import json

import httpx
import pytest

from tests.observations.profiles.recorded import TIMES, build
from tests.observed import outcome, runs
from tests.stack import Stack

pytestmark = pytest.mark.e2e


def test_profile_is_printed_recorded_shown_and_exported(
    stack: Stack, tmp_path_factory: pytest.TempPathFactory
) -> None:
    program = build(tmp_path_factory.mktemp("shares"), "-g")
    words = ("observe", "--profile", "--rate", "500", "--", program, TIMES)
    done = stack.run(*words)
    assert "supertwin: profile: " in done.stderr
    assert "work (shares)" in done.stderr
    ((_, iri),) = runs(done.stderr)
    assert outcome(stack, iri) == "completed"
    query = ("query", "observations/profile", "--id", iri, "--format", "json")
    rows = {one["function"]: one for one in json.loads(stack.run(*query).stdout)}
    assert float(rows["three"]["total"]) == pytest.approx(0.75, abs=0.15)
    assert rows["work"]["source"].endswith("shares.c")
    options = ("--id", iri, "--contains", "shares", "--above", "0.2")
    query = ("query", "observations/profile-binaries", *options, "--format", "json")
    (file,) = json.loads(stack.run(*query).stdout)
    assert (file["binary"], file["lost"]) == (program, 0)
    page = httpx.get(iri, headers={"Accept": "text/html"}).raise_for_status().text
    assert '<h2 id="profile">Profile' in page
    assert 'class="profile" data-kind="on-cpu"' in page
    assert 'data-kind="off-cpu"' not in page
    address = f"{iri.replace('/observation/', '/observations/')}/profile"
    parameters = {"base": iri.rpartition("/")[2]}
    flame = httpx.get(address, params=parameters).raise_for_status().json()
    assert all(one["share"] == one["before"] for one in flame["calls"])
    folded = httpx.get(address, params={"format": "folded"}).raise_for_status().text
    assert "main;three;work " in folded
    pprof = httpx.get(address, params={"format": "pprof"}).raise_for_status().content
    assert b"three" in gzip.decompress(pprof)
    scope = httpx.get(address, params={"format": "speedscope"}).raise_for_status()
    assert scope.json()["profiles"][0]["type"] == "sampled"


def test_waits_are_printed_recorded_shown_and_exported(
    stack: Stack, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("waits")
    program = build(folder, "-g", name="waits", source="waits")
    done = stack.run("observe", "--off-cpu", "--", program)
    assert "supertwin: off-CPU profile: " in done.stderr
    ((_, iri),) = runs(done.stderr)
    assert outcome(stack, iri) == "completed"
    options = ("--id", iri, "--format", "json", "--kind")
    query = ("query", "observations/profile", *options)
    waits = json.loads(stack.run(*query, "off CPU").stdout)
    rows = {one["function"]: one for one in waits}
    # It waits for 1.2 s, and for a CPU.
    assert float(rows["rarely"]["total"]) == pytest.approx(0.5, abs=0.1)
    assert {one["kind"] for one in waits} == {"off CPU"}
    computed = json.loads(stack.run(*query, "on CPU").stdout)
    assert {one["kind"] for one in computed} == {"on CPU"}
    page = httpx.get(iri, headers={"Accept": "text/html"}).raise_for_status().text
    for kind in ("on-cpu", "off-cpu"):
        assert f'class="profile" data-kind="{kind}"' in page
    address = f"{iri.replace('/observation/', '/observations/')}/profile"
    parameters = {"kind": "off-cpu", "base": iri.rpartition("/")[2]}
    flame = httpx.get(address, params=parameters).raise_for_status().json()
    assert flame["waited"] > 1.2
    assert all(one["share"] == one["before"] for one in flame["calls"])
    parameters = {"kind": "off-cpu", "format": "folded"}
    folded = httpx.get(address, params=parameters).raise_for_status().text
    assert "main;rarely;nap;usleep" in folded
    form = httpx.get(
        f"{iri.partition('/observation/')[0]}/observations/new",
        params={"again": iri.rpartition("/")[2]},
    )
    assert 'value="off_cpu" checked' in form.text


def test_run_without_samples_says_why(stack: Stack) -> None:
    done = stack.run("observe", "--profile", "--rate", "1", "--", "true")
    ((_, iri),) = runs(done.stderr)
    assert outcome(stack, iri) == "completed"
    query = ("query", "observations/profile", "--id", iri, "--format", "json")
    (row,) = json.loads(stack.run(*query).stdout)
    assert (row["function"], "too little time" in row["missing"]) == (None, True)
    page = httpx.get(iri, headers={"Accept": "text/html"}).raise_for_status().text
    assert "Missing: " in page


def test_profile_and_hot_loops_exclude_each_other(stack: Stack) -> None:
    words = ("observe", "--profile", "--hot-loops", "--", "true")
    done = stack.run(*words, check=False)
    assert done.returncode != 0
    assert "profile and hot_loops exclude each other" in done.stderr


def test_run_without_a_profile_has_none(stack: Stack) -> None:
    ((_, iri),) = runs(stack.run("observe", "--", "true").stderr)
    address = f"{iri.replace('/observation/', '/observations/')}/profile"
    answer = httpx.get(address)
    assert answer.status_code == 404
    assert answer.json()["type"].endswith("not-kept")
