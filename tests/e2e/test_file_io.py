"""File I/O of a run from a log of Darshan: in queries, on the page, and forgotten."""

import json

import httpx
import pytest

from tests.observations.file_io.shipped import HDF5, NEEDS_DARSHAN, shipped
from tests.observed import outcome, runs
from tests.stack import Stack

pytestmark = [pytest.mark.e2e, NEEDS_DARSHAN]

# The log was written on 7 July 2020.
MOVED = """PREFIX prov: <http://www.w3.org/ns/prov#>
PREFIX st: <https://w3id.org/supertwin/ns#>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
DELETE {{ GRAPH ?g {{ <{run}> prov:startedAtTime ?start ; st:duration ?seconds }} }}
INSERT {{ GRAPH ?g {{ <{run}> st:duration 2.0 ;
  prov:startedAtTime "2020-07-07T20:57:40Z"^^xsd:dateTime }} }}
WHERE {{ GRAPH ?g {{ <{run}> prov:startedAtTime ?start ; st:duration ?seconds }} }}"""


def test_log_is_a_part_of_its_run(stack: Stack) -> None:
    ((_, iri),) = runs(stack.run("observe", "--", "true").stderr)
    assert outcome(stack, iri) == "completed"
    id_ = iri.rpartition("/")[2]
    words = ("import", "darshan", str(shipped(HDF5)), "--run", id_)
    done = stack.run(*words, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "[log-of-another-run]" in done.stderr
    page = httpx.get(iri, headers={"Accept": "text/html"}).raise_for_status().text
    assert 'id="file-io"' not in page
    stack.update(MOVED.format(run=iri))
    stack.run(*words)
    query = ("query", "observations/io", "--id", id_, "--format", "json")
    rows = json.loads(stack.run(*query, "--interface", "H5D").stdout)
    assert [int(row["written"]) for row in rows] == [3 << 20]
    page = httpx.get(iri, headers={"Accept": "text/html"}).raise_for_status().text
    assert '<h2 id="file-io">File I/O' in page
    assert '<th scope="row">/global/cscratch1/sd/ssnyder/test123.h5</th>' in page
    assert 'title="4195800 B">4 MiB' in page
    stack.run("forget", id_, "--yes")
    assert json.loads(stack.run(*query).stdout) == []
