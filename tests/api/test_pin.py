"""Placements over HTTP: the chosen CPUs, the queries used, and refused requests."""

from typing import Any

import httpx
import pytest

from tests.api.watched import BASE, LARGE, Watched

HTML = {"Accept": "text/html"}
TABLE = {"Accept": "application/sparql-results+json"}


def ask(watched: Watched, **query: Any) -> httpx.Response:
    return watched.client.get("/pin", params={"host": LARGE, **query})


def test_placement_names_its_candidates(watched: Watched) -> None:
    answer = ask(watched, threads=4, policy="distinct:l3", format="numactl")
    assert answer.status_code == 200, answer.text
    assert answer.headers["Content-Type"] == "application/json"
    found = answer.json()
    assert (found["host"], found["threads"]) == (LARGE, 4)
    assert found["cpus"] == [0, 4, 8, 12]
    assert found["text"] == "numactl --physcpubind=0,4,8,12 --membind=0-1 COMMAND"
    assert "No two share an L3 cache: there are 16 L3 caches." in found["reason"]
    assert found["places"][1]["cpu"] == 4
    assert found["places"][1]["l3"] == f"{BASE}/twin/{LARGE}/cache/l3-4"
    assert not found["computed"]
    (query,) = found["queries"]
    assert query["name"] == "pinning/distinct"
    assert "--threads 4 --kind l3`." in found["reason"]
    assert listed(watched, query["answer"]) == found["cpus"]
    text = watched.client.get(query["query"].removeprefix(BASE)).text
    assert f'VALUES (?host ?threads ?kind) {{ ("{LARGE}" 4 "l3") }}' in text


def listed(watched: Watched, address: str) -> list[int]:
    """The CPUs in the answer of a saved query, in order."""
    answer = watched.client.get(address.removeprefix(BASE), headers=TABLE)
    rows = answer.json()["results"]["bindings"]
    return [int(row["cpu"]["value"]) for row in rows]


@pytest.mark.parametrize(
    ("policy", "threads", "name", "cpus"),
    [
        ("", 3, "compact", [0, 64, 1]),
        ("compact-cores", 3, "distinct", [0, 1, 2]),
        ("scatter", 4, "scatter", [0, 16, 32, 48]),
        ("share:socket:of=32", 2, "share", [32, 96]),
        ("per:socket=1", 2, "per", [0, 32]),
        ("per:socket=1", "", "per", [0, 32]),
        ("exclude:0-1", 2, "exclude", [64, 65]),
    ],
)
def test_cpus_are_the_rows_of_the_query(
    watched: Watched, policy: str, threads: int | str, name: str, cpus: list[int]
) -> None:
    found = ask(watched, threads=threads, policy=policy).json()
    (query,) = found["queries"]
    assert query["name"] == f"pinning/{name}"
    assert found["cpus"] == cpus == listed(watched, query["answer"])


def test_combination_says_that_it_is_computed(watched: Watched) -> None:
    tree = ["pinning/threads", "pinning/components"]
    for policy, names in (
        ("per:socket=2+distinct:l3", tree),
        ("likwid:S0:0-3", tree),
        ("share:socket+scatter", [*tree, "pinning/scatter"]),
    ):
        found = ask(watched, threads=4, policy=policy).json()
        assert found["computed"]
        assert [query["name"] for query in found["queries"]] == names
        assert "No saved query gives this choice: it is computed" in found["reason"]
        for query in found["queries"]:
            assert listed_any(watched, query["answer"])


def listed_any(watched: Watched, address: str) -> bool:
    """Whether a saved query answers with rows."""
    rows = watched.client.get(
        address.removeprefix(BASE), headers={"Accept": "text/csv"}
    )
    return len(rows.text.splitlines()) > 1


def test_plus_sign_may_be_unescaped(watched: Watched) -> None:
    path = f"/pin?host={LARGE}&policy=per:socket=1+scatter"
    plain, escaped = (watched.client.get(p) for p in (path, path.replace("+", "%2B")))
    assert plain.json()["cpus"] == escaped.json()["cpus"] == [0, 32]


def test_ranks_are_placed(watched: Watched) -> None:
    found = ask(watched, ranks=4, threads=2, nodes=2, map="l3", format="srun").json()
    assert found["computed"]
    assert [one["threads"] for one in found["places"]] == [[0, 1], [4, 5]] * 2
    assert [one["node"] for one in found["places"]] == [0, 0, 1, 1]
    assert found["text"].startswith("srun --nodes=2 --mincpus=128 --ntasks=4 ")


@pytest.mark.parametrize(
    ("query", "status", "kind", "message"),
    [
        ({"host": "", "threads": 1}, 400, "host-needed", "add host=NAME"),
        ({"host": ""}, 400, "host-needed", "add host=NAME"),
        ({"host": "nope", "threads": 1}, 404, "unknown-host", LARGE),
        ({"host": ".", "policy": "skatter"}, 404, "unknown-host", LARGE),
        ({"threads": 1, "policy": "skatter"}, 400, "bad-policy", "there are: compact"),
        ({"policy": "compact"}, 400, "bad-policy", "give threads"),
        ({"threads": 0}, 400, "bad-policy", "at least 1"),
        ({"threads": -4}, 400, "bad-policy", "at least 1"),
        ({"threads": 10**9}, 400, "bad-policy", "ask for 1 to 100000"),
        ({"threads": "4e1"}, 400, "bad-policy", "not a whole number"),
        ({"threads": 1, "format": "x"}, 400, "bad-policy", "there are: cpus, taskset"),
        ({"ranks": 1, "policy": "scatter"}, 400, "bad-policy", "leave policy out"),
        ({"nodes": 2, "threads": 1}, 400, "bad-policy", "give ranks"),
        ({"ranks": 1, "format": "omp"}, 400, "bad-policy", "cannot hold ranks"),
        (
            {"threads": 30, "policy": "distinct:l3"},
            *(409, "cannot-be-met", "16 L3 caches, 30 asked"),
        ),
        ({"ranks": 65}, 409, "cannot-be-met", "64 ranks fit"),
        (
            {"threads": 1, "policy": "near:gpu=none"},
            *(422, "no-such-place", "no such gpu"),
        ),
        (
            {"threads": 1, "policy": "cores:p"},
            *(422, "no-such-place", "are of one kind"),
        ),
        ({"threads": 1, "policy": "exclude:0-999"}, 422, "no-such-place", "no CPU 128"),
    ],
)
def test_refusal_is_a_problem_document(
    watched: Watched, query: dict[str, Any], status: int, kind: str, message: str
) -> None:
    answer = ask(watched, **query)
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    problem = answer.json()
    assert problem["type"].endswith(f"/{kind}")
    assert message in problem["detail"]


def test_page_without_a_host_is_a_form(watched: Watched) -> None:
    page = watched.client.get("/pin", headers=HTML)
    assert page.status_code == 200
    assert f'<option value="{LARGE}">' in page.text
    assert "per:KIND=K" in page.text
    assert 'href="/pin" aria-current="page"' in page.text


def test_page_shows_the_cpus_and_every_command(watched: Watched) -> None:
    query = {"host": LARGE, "threads": 4, "policy": "scatter"}
    page = watched.client.get("/pin", params=query, headers=HTML)
    assert page.status_code == 200
    assert page.text.count('class="cpu chosen"') == 4
    assert page.text.count('class="cpu ') == 128
    assert "taskset -c " in page.text
    assert "KMP_AFFINITY=" in page.text
    assert "The CPUs are the rows of" in page.text
    assert f'href="/queries/pinning/scatter?host={LARGE}&amp;threads=4"' in page.text
    ranks = {"host": LARGE, "ranks": 2, "format": "rankfile"}
    page = watched.client.get("/pin", params=ranks, headers=HTML)
    assert f"rank 1={LARGE} slot=1,65" in page.text
    assert "Computed over the rows of" in page.text
    for name in ("pinning/threads", "pinning/components"):
        assert f'href="/queries/{name}?host={LARGE}"' in page.text


def test_page_shows_the_reason_of_a_refusal(watched: Watched) -> None:
    hostile = "<script>alert(1)</script>"
    for query, status in (
        ({"host": LARGE, "threads": 30, "policy": "distinct:l3"}, 409),
        ({"host": hostile, "threads": 1}, 404),
        ({"host": LARGE, "threads": hostile, "policy": hostile}, 400),
    ):
        page = watched.client.get("/pin", params=query, headers=HTML)
        assert page.status_code == status
        assert 'role="alert"' in page.text
        assert hostile not in page.text


def test_other_format_is_not_served(watched: Watched) -> None:
    answer = watched.client.get("/pin", headers={"Accept": "text/turtle"})
    assert answer.status_code == 406
