"""`supertwin bench` and `supertwin roofline` on a running stack."""

import json

import pytest
from defusedxml.ElementTree import fromstring

from tests.stack import HOST, Stack

# One short run of each suite; the figures themselves are those of a busy machine.
SUITES = ("carm", "stream")


@pytest.fixture(scope="module")
def measured(stack: Stack) -> Stack:
    """A stack whose host was measured on one core by the quick benchmark."""
    done = stack.run("bench", "quick", "--threads", "1")
    assert done.stdout.count("triad") == 2 or "streaming" not in done.stdout
    return stack


def test_results_are_in_the_graph_with_their_run(measured: Stack) -> None:
    answer = measured.get("/queries/benchmarks/results.json", host=HOST).json()
    rows = answer["results"]["bindings"]
    assert {row["suite"]["value"] for row in rows} == {*SUITES}
    for row in rows:
        assert row["threads"]["value"] == "1"
        assert float(row["low"]["value"]) <= float(row["value"]["value"])
        assert float(row["value"]["value"]) <= float(row["best"]["value"])
    run = rows[0]["run"]["value"].removeprefix(measured.base)
    document = measured.get(run, "application/ld+json").json()
    assert "benchmark" in json.dumps(document)


def test_result_is_described_at_its_iri(measured: Stack) -> None:
    answer = measured.get("/queries/benchmarks/results.json", kernel="triad").json()
    iri = answer["results"]["bindings"][0]["result"]["value"]
    found = measured.get(iri.removeprefix(measured.base), "text/turtle")
    assert found.status_code == 200
    assert "st:BenchmarkResult" in found.text
    assert "unit:BYTE-PER-SEC" in found.text


def test_roofline_is_json_drawing_and_page(measured: Stack) -> None:
    path = f"/roofline/{HOST}"
    found = measured.get(path, "application/json").json()
    levels = [roof["level"] for roof in found["roofs"]]
    assert (levels[0], levels[-1]) == ("L1", "DRAM")
    assert {point["kind"] for point in found["points"]} == {"benchmark"}
    drawing = measured.get(path, "image/svg+xml")
    assert fromstring(drawing.text).tag.endswith("svg")
    page = measured.get(path, "text/html")
    assert "<svg" in page.text
    assert "STREAM triad" in page.text


def test_command_shows_the_same_roofline(measured: Stack) -> None:
    printed = measured.run("roofline", HOST, "--format", "json").stdout
    assert (
        json.loads(printed)
        == measured.get(f"/roofline/{HOST}", "application/json").json()
    )
    assert "DRAM" in measured.run("roofline", HOST).stdout
    fromstring(measured.run("roofline", HOST, "--format", "svg").stdout)


@pytest.mark.parametrize(
    ("host", "parameters", "status", "code"),
    [
        (HOST, {"threads": "4096"}, 404, "no-benchmark"),
        ("nowhere", {}, 404, "unknown-host"),
        (HOST, {"threads": "0"}, 422, "invalid-request"),
        (HOST, {"precision": "half"}, 422, "invalid-request"),
        (HOST, {"thread": "1"}, 400, "unknown-parameter"),
    ],
)
def test_wrong_requests_are_named(
    measured: Stack, host: str, parameters: dict[str, str], status: int, code: str
) -> None:
    answer = measured.get(f"/roofline/{host}", "application/json", **parameters)
    assert answer.status_code == status, answer.text
    assert answer.json()["type"].endswith(code), answer.text


def test_roofline_without_results_names_the_command(stack: Stack) -> None:
    done = stack.run("roofline", "n9", check=False)
    assert done.returncode == 2
    assert done.stderr.rstrip().endswith("[no-benchmark]")
    assert "supertwin bench quick" in done.stderr


def test_bench_names_a_host_without_a_compiler(stack: Stack) -> None:
    lacking = Stack(stack.home, {**stack.env, "CC": "no-such-compiler"})
    done = lacking.run("bench", "carm", "--threads", "1", check=False)
    assert done.returncode == 2
    assert done.stderr.rstrip().endswith("[no-compiler]")


def test_bench_of_more_cores_than_there_are_is_refused(stack: Stack) -> None:
    done = stack.run("bench", "stream", "--threads", "4096", check=False)
    assert done.returncode != 0
    assert done.stderr.count("[") == 1


def test_list_names_the_suites(stack: Stack) -> None:
    printed = stack.run("bench", "list").stdout
    assert [line.split()[0] for line in printed.splitlines()] == [*SUITES, "latency"]
