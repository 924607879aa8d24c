"""The promises of README and of the pages about SPARQL, on a real stack."""

import os
import re
import time
from pathlib import Path

import pytest

from tests.servers import ROOT, wait_until
from tests.stack import HOST, Stack

pytestmark = pytest.mark.e2e

PAGES = ("sparql", "samples-in-sparql", "reference/samples-in-sparql")
EXAMPLES = [
    example
    for page in PAGES
    for example in re.findall(
        r"```sparql\n(.*?)```", (ROOT / f"docs/{page}.md").read_text("utf-8"), re.S
    )
]


def test_up_says_what_it_found_and_what_to_try(stack: Stack) -> None:
    assert HOST in stack.printed
    assert re.search(r"\d+ metrics", stack.printed)
    assert re.search(r"\d+ triples, and \d+ in the cat", stack.printed)
    assert stack.api in stack.printed
    assert "curl" in stack.printed


def test_health_names_every_service(stack: Stack) -> None:
    health = stack.get("/health").json()
    assert {"fuseki", "store", "bridge", "pmcd"} <= health["services"].keys()
    # Health is degraded for 10 s after a busy machine loses a tick.
    wait_until(lambda: stack.get("/health").json()["status"] == "ok")


def test_printed_command_works(stack: Stack) -> None:
    command = next(
        line.strip() for line in stack.printed.splitlines() if "curl" in line
    )
    with os.popen(command) as pipe:
        answer = pipe.read()
    assert HOST in answer or re.search(r"\d", answer), answer


@pytest.mark.parametrize("example", EXAMPLES)
def test_sparql_examples_have_answers(stack: Stack, example: str) -> None:
    assert len(EXAMPLES) == 10
    # no rows would be correct on a machine of one NUMA domain without NUMA metrics
    wait_until(lambda: stack.sparql(example), what=example)


def test_twin_has_the_threads_of_this_machine(stack: Stack) -> None:
    rows = stack.sparql(
        "PREFIX st: <https://w3id.org/supertwin/ns#> SELECT ?cpu WHERE "
        "{ ?t a st:HardwareThread ; st:osIndex ?cpu ; st:allowed true }"
    )
    assert {int(cpu) for (cpu,) in rows} == os.sched_getaffinity(0)


def test_saved_query_runs_on_the_command_line(stack: Stack) -> None:
    table = stack.run("query", "cache/sharing", "--cpu", "0", "--level", "1").stdout
    assert re.search(r"\(\d+ rows?\)", table)
    csv = stack.run("query", "cache/groups", "--format", "csv").stdout
    assert len(csv.splitlines()) > 3


def test_thread_answers_as_turtle_json_ld_and_html(stack: Stack) -> None:
    path = f"/twin/{HOST}/thread/0"
    turtle = stack.get(path, "text/turtle")
    assert "HardwareThread" in turtle.text
    document = stack.get(path, "application/ld+json").json()
    assert document["@context"].endswith("/context.jsonld")
    page = stack.get(path, "text/html")
    assert page.headers["content-type"].startswith("text/html")
    assert "HardwareThread" in page.text


def test_telemetry_has_a_last_value(stack: Stack) -> None:
    path = f"/twin/{HOST}/telemetry/kernel.percpu.cpu.user/cpu0"

    def fresh() -> bool:
        answer = stack.get(path, "application/ld+json")
        return answer.status_code == 200 and '"age' in answer.text.replace("st:", "")

    wait_until(fresh, what="a last value")
    answer = stack.get(path, "application/ld+json").text
    assert "kernel_percpu_cpu_user" in answer


def test_points_arrive_every_second(stack: Stack) -> None:
    selector = f'kernel_all_pswitch{{hostname="{HOST}"}}'
    start = int(time.time())

    def in_a_row() -> bool:
        """A busy machine may lose a point: look for any five in a row."""
        found = stack.seconds(selector, start, time.time())
        return any({*range(first, first + 5)} <= found for first in found)

    wait_until(in_a_row, what="five seconds of points")


def test_monitor_set_is_complete(stack: Stack) -> None:
    rows = stack.sparql(
        "PREFIX st: <https://w3id.org/supertwin/ns#> SELECT ?metric ?name WHERE "
        "{ ?plan a st:SamplingPlan ; st:samples/st:samplerName ?metric ; "
        "st:samples/st:dbName ?name }"
    )
    assert len(rows) >= 35
    assert not [metric for metric, _ in rows if metric.startswith("proc.")]


def test_second_up_changes_nothing(stack: Stack) -> None:
    before = {name: child["pid"] for name, child in stack.children().items()}
    stack.run("up")
    assert {n: child["pid"] for n, child in stack.children().items()} == before


def test_probe_writes_a_complete_file(stack: Stack, tmp_path: Path) -> None:
    out = tmp_path / "facts.json"
    stack.run("probe", "--out", str(out))
    assert '"supertwin-probe/1"' in out.read_text()
    assert list(tmp_path.iterdir()) == [out]
    stack.run("ingest", "--probe", str(out))


def test_why_says_that_a_sampled_metric_has_data(stack: Stack) -> None:
    def verdict() -> str:
        answer = stack.get("/why", host=HOST, metric="kernel.all.pswitch")
        return str(answer.json().get("verdict"))

    wait_until(lambda: verdict() == "data", what="data")


def test_why_names_an_unknown_metric(stack: Stack) -> None:
    answer = stack.get("/why", host=HOST, metric="kernel.no.such").json()
    assert "metric" in answer["verdict"]
    assert "kernel.no.such" in answer["reason"]
