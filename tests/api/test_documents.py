"""The documentation and the description of the HTTP interface, as pages."""

import re
from html import unescape
from html.parser import HTMLParser
from urllib.parse import urldefrag, urljoin, urlsplit

import httpx
import pytest

from api.web.built_pages import BUILT
from core.settings.home import CHECKOUT
from queries.catalogue import load_catalogue

DOCS = sorted(
    str(path.relative_to(CHECKOUT / "docs"))
    for path in (CHECKOUT / "docs").rglob("*.md")
)


class Links(HTMLParser):
    """The links, pictures and anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.leads: list[str] = []
        self.shows: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors.add(given.get("id", ""))
        if tag == "a" and "href" in given:
            self.leads.append(given["href"])
        if tag == "img":
            self.shows.append(given["src"])


def page(api: httpx.Client, path: str) -> Links:
    answer = api.get(path, headers={"Accept": "text/html"}, follow_redirects=True)
    assert answer.status_code == 200, (path, answer.text[:300])
    return Links(answer.text)


def test_every_page_is_linked_and_every_link_works(
    api: httpx.Client,
) -> None:
    known: dict[str, Links] = {}
    wanted = {"/docs/README.md"}
    leads: set[tuple[str, str]] = set()
    while wanted:
        path = wanted.pop()
        known[path] = page(api, path)
        for src in known[path].shows:
            picture = api.get(urljoin(path, src))
            assert picture.headers["content-type"].startswith("image/"), src
        found = {urldefrag(urljoin(path, href)) for href in known[path].leads}
        below = {link for link in found if link.url.startswith("/docs/")}
        leads |= {(link.url, link.fragment) for link in below}
        wanted |= {link.url for link in below if link.url.endswith(".md")} - set(known)
    assert known.keys() >= {f"/docs/{name}" for name in (*DOCS, *BUILT)}
    anchors = {(path, one) for path, found in known.items() for one in found.anchors}
    assert not {
        (path, fragment)
        for path, fragment in leads
        if path in known and fragment and (path, fragment) not in anchors
    }


@pytest.mark.parametrize("path", ["/docs", "/docs/"])
def test_docs_begin_with_the_page_that_leads_to_all(
    api: httpx.Client, path: str
) -> None:
    answer = api.get(path)
    assert answer.status_code == 307
    assert urlsplit(answer.headers["location"]).path == "/docs/README.md"


@pytest.mark.parametrize(
    "path",
    [
        "pyproject.toml",
        "%2e%2e/pyproject.toml",
        "..%2fMakefile",
        "no.md",
        "benchmarks",
        "built/",
        "built/no.md",
    ],
)
def test_only_documentation_is_served(api: httpx.Client, path: str) -> None:
    url = api.base_url.copy_with(raw_path=f"/docs/{path}".encode())
    answer = api.get(url)
    assert answer.status_code == 404
    assert answer.json()["detail"].endswith("/docs lists them")


@pytest.mark.parametrize("path", ["README.md", "queries.md", *BUILT])
def test_pages_are_served_as_html_and_markdown(api: httpx.Client, path: str) -> None:
    def answer(accept: str) -> httpx.Response:
        return api.get(f"/docs/{path}", headers={"Accept": accept})

    assert answer("*/*").headers["content-type"].startswith("text/html")
    source = answer("text/markdown")
    assert source.headers["content-type"] == "text/markdown; charset=utf-8"
    assert source.text.lstrip().startswith(("# ", "<"))
    refused = answer("application/json")
    assert refused.status_code == 406
    assert refused.json()["available"] == ["text/html", "text/markdown"]


@pytest.mark.parametrize("path", ["/docs", "/docs/"])
def test_start_page_follows_accept(api: httpx.Client, path: str) -> None:
    for accept, status in (("text/markdown", 200), ("application/json", 406)):
        headers = {"Accept": accept}
        assert (
            api.get(path, headers=headers, follow_redirects=True).status_code == status
        )


def test_page_lists_every_operation_and_its_parameters(
    api: httpx.Client,
) -> None:
    text = unescape(api.get("/api", headers={"Accept": "text/html"}).text)
    document = api.get("/openapi.json").json()
    operations = [
        (method, path, one)
        for path, methods in document["paths"].items()
        for method, one in methods.items()
    ]
    assert len(operations) > 50
    # The page of all queries lists each of them.
    named = {f"/queries/{name}" for name in load_catalogue()}
    operations = [one for one in operations if one[1] not in named]
    for method, path, one in operations:
        start = text.index(f'<section class="operation" id="{method}-{path}">')
        section = text[start : text.index("</section>", start)]
        assert one["summary"] in section
        for each in one.get("parameters", []):
            assert f"<code>{each['name']}</code>" in section, (path, each["name"])
        for status in one["responses"].keys() - {"4XX", "5XX"}:
            assert f'<th scope="row">{status}</th>' in section, (path, status)


def test_page_lists_the_members_of_bodies(api: httpx.Client) -> None:
    text = api.get("/api", headers={"Accept": "text/html"}).text
    section = text[text.index('id="post-/observations"') :].partition("</section>")[0]
    row = re.search(r"<code>repeat</code>.*?</tr>", section, re.DOTALL)
    assert row and "integer" in row[0] and "Default: <code>1</code>" in row[0]
    assert "<code>argv</code>" in section and "list of string, required" in section


@pytest.mark.parametrize("path", ["/queries/process/named", "/plans", "/api", "/docs"])
def test_menu_links_to_the_documentation(api: httpx.Client, path: str) -> None:
    assert path in page(api, "/plans").leads
    page(api, path)
