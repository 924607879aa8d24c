"""``/roofline/{host}``: the roofs of a host, with their times and concerns."""

from collections.abc import Iterator

import httpx
import pytest

from tests.queries.cases import FOLDER

HTML = {"Accept": "text/html"}
NOISE = "the hypervisor took 2% of its CPUs"


@pytest.fixture(scope="module", autouse=True)
def measured(fuseki: str, base: str) -> Iterator[None]:
    """Add the benchmarks of n1 on two threads, of which some were disturbed."""
    text = (FOLDER / "hosts" / "disturbed.trig").read_text()
    form = {"Content-Type": "application/trig"}
    data = text.replace("http://localhost:8000", base)
    httpx.post(f"{fuseki}/twin/data", content=data, headers=form).raise_for_status()
    yield
    names = ("older", "quiet", "loaded", "s1", "s2", "s3", "c1", "c2")
    drop = " ; ".join(f"DROP GRAPH <{base}/graph/benchmark/{name}>" for name in names)
    httpx.post(f"{fuseki}/twin/update", data={"update": drop}).raise_for_status()


def test_document_has_times_and_concerns(api: httpx.Client) -> None:
    found = api.get("/roofline/n1").json()
    (roof,) = found["roofs"]
    assert (roof["at"], roof["concern"]) == ("2026-11-02T09:00:00Z", "")
    assert [peak["concern"] for peak in found["peaks"]] == ["", NOISE]
    assert {point["at"][:10] for point in found["points"]} == {"2026-11-02"}


def test_page_has_times_concerns_and_what_shares_mean(api: httpx.Client) -> None:
    page = api.get("/roofline/n1", headers=HTML).text
    assert '<time datetime="2026-11-02T09:00:00Z">' in page
    assert f"<td>{NOISE}</td>" in page
    assert "<p>A share above 100 %: " in page
    assert "What 2 threads of this host" in page


def test_table_names_its_charset_once(api: httpx.Client) -> None:
    answer = api.get("/roofline/n1?format=csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"


def test_page_of_a_host_and_its_dashboard_lead_to_the_roofline(
    api: httpx.Client,
) -> None:
    dashboard = "/dashboards/roofline?host=n1"
    assert f'href="{dashboard}"' in api.get("/twin/n1", headers=HTML).text
    assert 'href="/roofline/n1"' in api.get(dashboard, headers=HTML).text
    assert "/roofline" not in api.get("/twin/n1/thread/0", headers=HTML).text


@pytest.mark.parametrize(
    ("path", "code", "says"),
    [
        ("/roofline/n9", "unknown-host", "known: n1, n2"),
        ("/roofline/n2", "no-benchmark", "supertwin bench quick --host n2"),
        ("/roofline/n1?threads=77", "no-benchmark", "n1 has 2 threads"),
        ("/roofline/n1?threads=1", "no-benchmark", "carm --host n1 --threads 1"),
        ("/benchmark/none", "no-such-benchmark", "/queries/benchmarks/results"),
        ("/benchmark/none/a/b", "no-such-benchmark", "/queries/benchmarks/results"),
    ],
)
def test_what_is_unknown_is_named_with_the_fix(
    api: httpx.Client, path: str, code: str, says: str
) -> None:
    answer = api.get(path)
    assert answer.status_code == 404
    assert answer.json()["type"].endswith(f"/{code}")
    assert says in answer.json()["detail"]
