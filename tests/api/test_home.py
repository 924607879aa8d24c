"""The home page as the server renders it."""

import re
from pathlib import Path

import httpx

from tests.api import watched as watching
from tests.api.servers import own_api
from tests.api.watched import small_document
from tests.dashboards.synthetic_facts import big_document, topology
from tests.servers import Fuseki

HTML = {"Accept": "text/html"}


def test_table_of_one_host_links_back(
    tmp_path: Path, emptied_fuseki: Fuseki, store: str
) -> None:
    watching.publish(emptied_fuseki, watching.small_document())
    with own_api(tmp_path, watching.BASE, emptied_fuseki.url, store) as api:
        table = api.client.get(f"{api.url}/?view=table", headers=HTML).text
        cards = api.client.get(f"{api.url}/", headers=HTML).text
    assert table.count("<tr data-host=") == 1
    assert '<a href="?view=cards">Cards</a>' in table
    assert "?view=" not in cards


def test_sampled_hosts_are_listed_first(
    tmp_path: Path, emptied_fuseki: Fuseki, store: str
) -> None:
    base = watching.BASE
    for document in (big_document(watching.LARGE, topology()), small_document()):
        watching.publish(emptied_fuseki, document)
    plans = f"DROP GRAPH <{base}/graph/plans/large>"
    with own_api(tmp_path, base, emptied_fuseki.url, store) as api:
        before = hosts(api.client.get(f"{api.url}/", headers=HTML).text)
        answer = httpx.post(f"{emptied_fuseki.url}/twin/update", data={"update": plans})
        answer.raise_for_status()
        after = hosts(api.client.get(f"{api.url}/", headers=HTML).text)
    assert (before, after) == (["large", "small"], ["small", "large"])


def hosts(page: str) -> list[str]:
    return re.findall('data-host="([^"]+)"', page)
