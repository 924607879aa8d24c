"""Virtual telemetry of a set in the twin as it was."""

from collections.abc import Iterator
from datetime import UTC, datetime

import httpx
import pytest

from core.stores.endpoint import Endpoint
from tests.api.servers import Closed
from tests.api.virtual.calls import send
from tests.virtual_telemetry.world import BASE, World

NODE, STATES = f"{BASE}/twin/n1", f"{BASE}/graph/history/n1"
PREFIXES = """PREFIX st: <https://w3id.org/supertwin/ns#>
PREFIX prov: <http://www.w3.org/ns/prov#>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
"""
CHANGED = 600
CORES = 'count({ ?telemetry st:samplerName "cpu.user" ; ' + (
    "st:ofComponent/st:isPartOf+ <twin/n1/socket/socket-0> })"
)


@pytest.fixture
def grown(world: World) -> Iterator[None]:
    """The first socket of n1 had two of its four threads before it changed."""
    with Endpoint(f"{world.fuseki}/history") as history:
        history.update(PREFIXES + states(world))
        yield
        history.update("DROP ALL")


def states(world: World) -> str:
    threads = " ".join(
        f"<{NODE}/thread/{n}> st:isPartOf <{NODE}/socket/socket-0> ." for n in (2, 3)
    )
    return f"""INSERT DATA {{ GRAPH <{STATES}> {{
      <{NODE}> st:hostname "n1" .
      <{NODE}/state/1> a st:TwinState ; st:stateNumber 1 ;
        prov:specializationOf <{NODE}> ; prov:generatedAtTime {time(world, 0)} ;
        prov:invalidatedAtTime {time(world, CHANGED)} .
      <{NODE}/state/2> a st:TwinState ; st:stateNumber 2 ;
        prov:specializationOf <{NODE}> ; prov:generatedAtTime {time(world, CHANGED)} ;
        prov:wasGeneratedBy <{NODE}/probe/2> ; prov:wasRevisionOf <{NODE}/state/1> ;
        st:addedGraph <{STATES}/2/added> .
      <{NODE}/probe/1> prov:endedAtTime {time(world, 0)} ; st:saw <{NODE}/state/1> .
      <{NODE}/probe/2> prov:endedAtTime {time(world, CHANGED)} ;
        st:saw <{NODE}/state/2> .
    }} GRAPH <{STATES}/2/added> {{ {threads} }} }}"""


def time(world: World, second: int) -> str:
    return f'"{moment(world, second)}"^^xsd:dateTime'


def moment(world: World, second: int) -> str:
    return datetime.fromtimestamp(world.start + second, UTC).isoformat()


@pytest.mark.usefixtures("grown")
def test_set_has_the_members_of_the_time(
    api: Closed, operator: str, world: World
) -> None:
    body = {"expression": CORES}
    assert send(api, "PUT", operator, "/virtual/cores", body).status_code == 201
    assert cores(api, world, 0) == "2"
    assert cores(api, world, 100) == "4"
    assert send(api, "DELETE", operator, "/virtual/cores").status_code == 204


def cores(api: Closed, world: World, after: int) -> str:
    """The series of the socket some seconds after it changed."""
    asof = moment(world, CHANGED + after - 1)
    query = f"SELECT ?v {{ <{BASE}/virtual/cores> st:max " + '("now-60s" "now" ?v) }'
    answer = httpx.post(
        f"{api.url}/sparql",
        data={"query": PREFIXES + query, "asof": asof},
        headers={"Accept": "text/csv"},
    )
    assert answer.status_code == 200, answer.text
    return answer.text.split()[-1]
