"""The API with a real graph and a real series store, for tests in a browser."""

from dataclasses import dataclass

import httpx

from tests.api.servers import Api
from tests.dashboards.synthetic import big_host, publish_document
from tests.dashboards.synthetic_facts import big_document, topology
from tests.servers import Fuseki, VictoriaMetrics

BIG, QUIET = "big", "quiet"
# A browser would run this if it were taken for HTML.
HOSTILE = "<script>window.hacked=1</script><img src=x onerror=window.hacked=1>"
_MINUTES, AHEAD_S = 6, 1800


@dataclass
class Site:
    """The running servers; ``before`` is the home page without any host."""

    api: Api
    fuseki: Fuseki
    store: VictoriaMetrics
    before: str = ""

    @property
    def url(self) -> str:
        return self.api.url

    def get(self, path: str, accept: str = "application/json") -> httpx.Response:
        """Get a path of the API."""
        headers = {"Accept": accept}
        return httpx.get(self.url + path, headers=headers, timeout=120, trust_env=False)

    def fill(self) -> None:
        """Add a host of 128 threads with series, one without, and hostile names."""
        big_host(self.fuseki.url, self.store.url, self.url, BIG, _MINUTES, AHEAD_S)
        quiet = big_document(QUIET, topology("pack:1 l2:2 l1d:1 core:1 pu:2"))
        quiet["facts"]["disks"][0]["model"] = HOSTILE
        publish_document(self.fuseki.url, self.url, quiet)
        for path in ("thread/0", "socket/socket-0"):
            self.rename(f"{self.url}/twin/{BIG}/{path}", HOSTILE)

    def rename(self, iri: str, label: str) -> None:
        """Change the label of a node."""
        update = (
            "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>\n"
            f"DELETE {{ GRAPH ?g {{ <{iri}> rdfs:label ?old }} }}\n"
            f"INSERT {{ GRAPH ?g {{ <{iri}> rdfs:label {_literal(label)} }} }}\n"
            f"WHERE {{ GRAPH ?g {{ <{iri}> rdfs:label ?old }} }}"
        )
        sent = httpx.post(f"{self.fuseki.url}/twin/update", data={"update": update})
        assert sent.is_success, sent.text


def _literal(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
