"""Recorded runs over HTTP: their pages, stored files, series and comparison."""

import csv
import io
import json
from itertools import pairwise
from pathlib import Path
from zipfile import ZipFile

import httpx
import pyarrow.parquet as pq
import pytest

from observations.exchange.crate import METADATA
from tests.observations.timeline.traces import read_trace
from tests.observed import forget
from tests.stack import Stack

pytestmark = pytest.mark.e2e


def test_run_and_its_files_are_served_at_its_iri(
    operator: httpx.Client, stack: Stack, pair: dict[str, str]
) -> None:
    id_ = f"{pair['long']}-1"
    turtle = operator.get(f"/observation/{id_}?format=turtle")
    assert turtle.headers["content-type"].startswith("text/turtle")
    assert "st:ObservationInterface" in turtle.text
    parts = ("surroundings", "summary/kernel.all.pswitch/~7E")
    for part in parts:
        answer = operator.get(f"/observation/{id_}/{part}")
        assert answer.status_code == 200, part
        assert f"/observation/{id_}/{part}" in answer.text
    unknown = operator.get("/observation/none")
    assert unknown.status_code == 404
    assert "no run 'none' is recorded" in unknown.json()["detail"]
    assert '"sleep", "2"' in operator.get(f"/observations/{id_}/program").text
    printed = operator.get(f"/observations/{id_}/output").json()
    assert printed["stdout"] == {"bytes": 0, "head": "", "tail": "", "cut": 0}
    for path in ("..", "none", "%2e%2e%2faccess"):
        assert operator.get(f"/observations/{path}/output").status_code == 404, path
    for path in (f"/observations/{id_}/program", f"/export/observation?id={id_}"):
        assert httpx.get(stack.api + path, trust_env=False).status_code == 401, path
    table = operator.get(f"/export/observation?id={id_}&format=csv").text
    assert table.startswith("series,hostname,instance,time_ms,value\nkernel_")
    crate = operator.get(f"/export/observation?id={id_}")
    assert crate.headers["content-type"] == "application/zip"
    assert crate.content.startswith(b"PK")
    graph = operator.get(f"/export/observation?id={id_}&format=jsonld")
    assert f"/observation/{id_}" in graph.text
    assert graph.json()["@context"].endswith("/context.jsonld")
    trace = operator.get(f"/export/observation?id={id_}&format=perfetto")
    assert trace.headers["content-disposition"].endswith(f'{id_}.pftrace"')
    read = read_trace([trace.content])
    (runs,) = read.slices.values()
    (_, begin, end, facts) = runs[-1]
    assert end - begin >= 2 * 10**9
    assert facts["outcome"] == "completed"
    assert read.values
    page = operator.get(f"/observation/{id_}", headers={"Accept": "text/html"}).text
    assert f"export/observation?id={id_}&amp;format=perfetto" in page


def test_group_is_accepted_in_place_of_a_run(
    operator: httpx.Client, stack: Stack, pair: dict[str, str], tmp_path: Path
) -> None:
    group, runs = pair["long"], [f"{pair['long']}-{number}" for number in (1, 2, 3)]
    page = operator.get(f"/observation/{group}", headers={"Accept": "text/html"})
    assert page.status_code == 303
    listed = operator.get(page.headers["location"], headers={"Accept": "text/html"})
    assert all(f"/observation/{run}" in listed.text for run in runs)
    turtle = operator.get(f"/observation/{group}?format=turtle").text
    assert turtle.count("st:ObservationInterface") == 3
    table = operator.get(f"/export/observation?id={group}&format=csv").text
    lines = table.splitlines()
    assert lines[0] == "run,series,hostname,instance,time_ms,value"
    assert {line.partition(",")[0] for line in lines[1:]} == {*runs}
    metric = {"metric": "kernel.all.pswitch"}
    series = operator.get(f"/observations/{group}/series", params=metric).json()
    assert (series["runs"], series["instances"]) == (runs, [None] * 3)
    assert all(any(values) for values in series["values"])
    statistics = ("query", "observations/statistics", "--format", "json", "--id")
    measured = json.loads(stack.run(*statistics, group).stdout)
    assert {row["run"].rpartition("/")[2] for row in measured} == {*runs}
    first = json.loads(stack.run(*statistics, runs[0]).stdout)
    assert first == [row for row in measured if row["run"].endswith(runs[0])]
    path = "/queries/observations/statistics.json"
    document = operator.get(path, params={"id": group}).json()["results"]["bindings"]
    assert [row["run"]["value"] for row in document] == [row["run"] for row in measured]
    zipped = operator.get(f"/export/observation?id={group}").content
    with ZipFile(io.BytesIO(zipped)) as archive:
        names = {name for name in archive.namelist() if name.endswith(METADATA)}
    assert names == {f"{run}/{METADATA}" for run in runs}
    crates = str(tmp_path / "crates.zip")
    stack.run("export", "observation", group, "--out", crates)
    forget(stack, group)
    again = stack.run("import", "observation", crates).stdout.split()
    assert again == [f"{stack.base}/observation/{run}" for run in runs]
    parquet = tmp_path / "samples.parquet"
    stack.run(
        *("export", "observation", group, "--format", "parquet"),
        *("--out", str(parquet)),
    )
    assert {*pq.read_table(parquet)["run"].to_pylist()} == {*runs}


@pytest.mark.serial
def test_series_have_times_since_the_start(
    operator: httpx.Client, stack: Stack, pair: dict[str, str]
) -> None:
    asked = {"metric": "kernel.all.pswitch"}
    path = f"/observations/{pair['long']}-1/series"
    found = operator.get(path, params=asked).json()
    assert -0.051 <= found["times"][0] < 0.2
    assert found["times"][-1] > 1.8
    (values,) = found["values"]
    assert len(found["times"]) == len(values)
    assert found["step"] == 0.05
    # One time per tick; a tick that a busy machine missed has none.
    for before, after in pairwise(found["times"]):
        steps = (after - before) / 0.05
        assert steps > 0.5 and steps == pytest.approx(round(steps))
    table = operator.get(f"/export/observation?id={pair['long']}-1&format=csv").text
    stored = {
        int(row["time_ms"]): float(row["value"])
        for row in csv.DictReader(table.splitlines())
        if row["series"] == "kernel_all_pswitch"
    }
    # If a tick and the tick before it are stored, the series has the rate between them.
    rates = [
        (value - stored[ms - 50]) / 0.05
        for ms, value in sorted(stored.items())
        if ms - 50 in stored
    ]
    assert rates
    given = [value for value in values if value is not None]
    for rate in rates:
        assert any(value == pytest.approx(rate) for value in given)
    few = operator.get(path, params={**asked, "points": 5}).json()
    assert len(few["times"]) <= 7
    bad = operator.get(path, params={**asked, "start": 1, "end": 0})
    assert (bad.status_code, bad.json()["title"]) == (400, "Not a range of time")
    missing = operator.get(path, params={"metric": "no.such"})
    assert missing.json()["type"].endswith("/not-measured")
    both = {"id": list(pair.values()), **asked}
    found = operator.get("/observations/compare/series", params=both).json()
    short, long = found["values"]
    times = found["times"]
    last_long = max(at for at, value in zip(times, long, strict=True) if value)
    last_short = max((at for at, v in zip(times, short, strict=True) if v), default=0)
    # The short runs took at most 0.6 s.
    assert last_short < 1 < last_long


@pytest.mark.serial
def test_json_comparison_equals_that_of_the_command(
    operator: httpx.Client, stack: Stack, pair: dict[str, str]
) -> None:
    ids = [pair["short"], pair["long"]]
    found = operator.get("/observations/compare", params={"id": ids}).json()
    printed = json.loads(stack.run("compare", *ids, "--json").stdout)
    assert found["measures"] == printed["measures"]
    assert found["measures"][0]["verdicts"][0]["word"] == "worse"
    assert found["differences"] == printed["differences"]
    assert found["tolerance"] == 0.05
    tolerant = operator.get(
        "/observations/compare", params={"id": ids, "tolerance": 12.5}
    ).json()
    (verdict,) = tolerant["measures"][0]["verdicts"]
    assert verdict["tolerance"] == tolerant["tolerance"] == 0.125
    refused = operator.get("/observations/compare", params={"id": ids, "tolerance": -1})
    assert refused.status_code == 422
    alone = operator.get("/observations/compare", params={"id": ids[:1]})
    assert "at least 2 items" in alone.json()["detail"]
    missing = operator.get("/observations/compare", params={"id": [ids[0], "none"]})
    assert missing.status_code == 404
    assert "'none'" in missing.json()["detail"]
