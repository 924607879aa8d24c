"""Bad input causes one clear line and changes nothing."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.stack import HOST, Stack

pytestmark = pytest.mark.e2e

ORIGINAL = Path(__file__).parents[1] / "ingest/machines/original.json"
BOMB = """<?xml version="1.0"?>
<!DOCTYPE topology [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;">]>
<topology version="2.0"><object type="Machine">&c;</object></topology>"""


@pytest.fixture(autouse=True)
def nothing_changes(stack: Stack) -> Iterator[None]:
    before = sizes(stack)
    yield
    assert sizes(stack) == before


def sizes(stack: Stack) -> list[list[str]]:
    """Return the size of each graph, except control groups: other tests make some."""
    return stack.sparql(
        "SELECT ?g (COUNT(*) AS ?n) WHERE { GRAPH ?g { ?s ?p ?o } "
        'FILTER (!CONTAINS(STR(?g), "/graph/cgroups/")) } GROUP BY ?g ORDER BY ?g'
    )


def one_line(done: subprocess.CompletedProcess[str], *words: str) -> None:
    """Check for exit 2, empty stdout and one line on stderr that contains the words."""
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    lines = [
        line for line in done.stderr.splitlines() if "Error" in line or ":" in line
    ]
    assert len(done.stderr.strip().splitlines()) == 1, lines
    for word in words:
        assert word in done.stderr


def hwloc_xml() -> str:
    done = subprocess.run(
        ["lstopo-no-graphics", "--input", "pack:2 core:2 pu:2", "--of", "xml"],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_truncated_hwloc_file_is_refused(stack: Stack, tmp_path: Path) -> None:
    path = tmp_path / "cut.xml"
    text = hwloc_xml()
    path.write_text(text[: len(text) // 2])
    done = stack.run("ingest", "--hwloc", str(path), "--host", "cut", check=False)
    one_line(done, "cut.xml")


def test_xml_bomb_is_refused(stack: Stack, tmp_path: Path) -> None:
    path = tmp_path / "bomb.xml"
    path.write_text(BOMB)
    done = stack.run("ingest", "--hwloc", str(path), "--host", "bomb", check=False)
    one_line(done, "bomb.xml", "entit")


def test_duplicate_thread_is_refused(stack: Stack, tmp_path: Path) -> None:
    path = tmp_path / "twice.xml"
    path.write_text(
        hwloc_xml().replace('type="PU" os_index="1"', 'type="PU" os_index="0"')
    )
    done = stack.run("ingest", "--hwloc", str(path), "--host", "twice", check=False)
    one_line(done, "twice.xml", "PU 0 occurs twice")


def test_truncated_probe_file_of_the_original_is_refused(
    stack: Stack, tmp_path: Path
) -> None:
    path = tmp_path / "original.json"
    path.write_text(ORIGINAL.read_text("utf-8")[:500])
    done = stack.run("ingest", "--supertwin-json", str(path), check=False)
    one_line(done, "original.json", "not valid JSON")


def test_huge_file_is_refused(stack: Stack, tmp_path: Path) -> None:
    path = tmp_path / "large.xml"
    with path.open("wb") as file:
        file.truncate(500_000_000)
    done = stack.run("ingest", "--hwloc", str(path), "--host", "large", check=False)
    one_line(done, "large.xml", "larger than")


@pytest.mark.parametrize("name", ["a/b", "two words", 'quo"te', "", "a\nb", "ümlaut"])
def test_invalid_host_name_is_refused(stack: Stack, tmp_path: Path, name: str) -> None:
    path = tmp_path / "topology.xml"
    path.write_text(hwloc_xml())
    done = stack.run("ingest", "--hwloc", str(path), "--host", name, check=False)
    one_line(done, "host")


def test_file_that_is_not_a_probe_file_is_refused(stack: Stack, tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    for text in ("{", "[]", '{"format": "other"}', "", "[" * 100_000):
        path.write_text(text)
        one_line(stack.run("ingest", "--probe", str(path), check=False), "facts.json")


@pytest.mark.parametrize("option", ["--probe", "--hwloc"])
def test_pipe_is_refused_without_waiting(
    stack: Stack, tmp_path: Path, option: str
) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    done = stack.run("ingest", option, str(path), "--host", "n1", check=False)
    one_line(done, str(path), "check that it is a regular file")


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ([], "facts is a list, expected an object"),
        ({"pcp": {"metrics": [7]}}, "facts.pcp.metrics[0] is the number 7"),
        ({"hwloc": {"threads": []}}, "facts.hwloc.cores is missing"),
        ({"disks": [{"name": "vda", "size": "1"}]}, "facts.disks[0].size is the text"),
    ],
)
def test_malformed_probe_file_names_the_position(
    stack: Stack, tmp_path: Path, facts: Any, message: str
) -> None:
    path = tmp_path / "facts.json"
    time = "2026-11-21T00:00:00Z"
    document = {"format": "supertwin-probe/1", "host": "n1", "sources": {}}
    document |= {"started": time, "ended": time, "facts": facts}
    path.write_text(json.dumps(document))
    done = stack.run("ingest", "--probe", str(path), check=False)
    one_line(done, str(path), message, "supertwin probe --out FILE")


def test_missing_file_is_refused(stack: Stack) -> None:
    done = stack.run("ingest", "--probe", "/nonexistent/facts.json", check=False)
    one_line(done, "/nonexistent/facts.json")


def test_invalid_description_is_refused_with_its_report(
    stack: Stack, tmp_path: Path
) -> None:
    path = tmp_path / "facts.json"
    stack.run("probe", "--out", str(path))
    document = json.loads(path.read_text())
    for cache in document["facts"]["hwloc"]["caches"]:
        cache["size"] = -1
    path.write_text(json.dumps(document))
    done = stack.run("ingest", "--probe", str(path), check=False)
    assert done.returncode == 2
    assert "was not stored" in done.stderr
    assert "cache" in done.stderr


def test_unknown_saved_query_is_refused(stack: Stack) -> None:
    done = stack.run("query", "cache/nothing", check=False)
    assert done.returncode == 2
    assert "cache/nothing" in done.stderr


def test_parameter_of_the_wrong_type_is_refused(stack: Stack) -> None:
    done = stack.run("query", "cache/sharing", "--cpu", "zero", check=False)
    one_line(done, "cpu", "zero")


@pytest.mark.parametrize(
    "value",
    [
        f'{HOST}" }} UNION {{ ?s ?p ?o }} #',
        f"{HOST}> ?x ?y . <http://x",
        "a\nb",
        "\\",
        "'''",
        "\x00",
    ],
)
def test_injected_host_is_unknown(stack: Stack, value: str) -> None:
    answer = stack.get("/queries/cache/groups", host=value)
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["type"].endswith("/unknown-host")


def problem(answer: httpx.Response, status: int) -> str:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert {"type", "title", "status", "detail"} <= body.keys()
    return str(body["detail"])


def test_update_is_refused(stack: Stack) -> None:
    answer = httpx.post(f"{stack.api}/sparql", data={"query": "DROP ALL"})
    problem(answer, 400)
    answer = httpx.post(f"{stack.api}/sparql", data={"update": "DROP ALL"})
    problem(answer, 400)


def test_select_as_turtle_is_refused(stack: Stack) -> None:
    query = "SELECT * WHERE { ?s ?p ?o } LIMIT 1"
    problem(stack.get("/sparql", "text/turtle", query=query), 406)


def test_no_other_server_is_queried(stack: Stack) -> None:
    query = "SELECT * WHERE { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }"
    problem(stack.get("/sparql", query=query), 400)
