"""The first page as the server writes it."""

from pathlib import Path

from tests.api import watched as watching
from tests.api.servers import own_api
from tests.servers import Fuseki


def test_the_table_of_a_single_host_has_a_way_back(
    tmp_path: Path, emptied_fuseki: Fuseki, store: str
) -> None:
    watching.publish(emptied_fuseki, watching.small_document())
    with own_api(tmp_path, watching.BASE, emptied_fuseki.url, store) as api:
        headers = {"Accept": "text/html"}
        table = api.client.get(f"{api.url}/?view=table", headers=headers).text
        cards = api.client.get(f"{api.url}/", headers=headers).text
    assert table.count("<tr data-host=") == 1
    assert '<a href="?view=cards">Cards</a>' in table
    assert "?view=" not in cards
