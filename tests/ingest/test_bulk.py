"""`supertwin ingest --bulk` on a real store: as loading one by one, but faster."""

import json
import os
import re
import subprocess
import threading
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from core.stores.endpoint import Endpoint
from core.stores.errors import UpdateRefusedError
from ingest.history.states import read_states, states_query
from tests.command_line import run
from tests.ingest.documents import IRIS, PCP, document, synthetic
from tests.servers import ROOT, Fuseki

# Hosts whose files contain no time.
_READ_NOW = re.compile("rack|made-up")
_STAMP = re.compile(r"\d{8}T\d{6,}Z?|\"\d{4}-\d\d-\d\dT[^\"]*\"")


class Site:
    """The command line with a store of its own."""

    def __init__(self, fuseki: Fuseki, home: Path) -> None:
        self.url = fuseki.url
        self.env = os.environ | fuseki.environment(home)
        self.drop = fuseki.empty
        self.drop()

    def dataset(self, name: str) -> Endpoint:
        return Endpoint(f"{self.url}/{name}")

    def ingest(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        return run(self.env, "ingest", *map(str, words))

    def content(self) -> list[str]:
        """Both datasets as text, without the time at which an XML file was read.

        Without the ontology, which has blank nodes.
        """
        lines = []
        for name in ("twin", "history"):
            with self.dataset(name) as dataset:
                body = dataset.answer(
                    "SELECT ?g ?s ?p ?o { GRAPH ?g { ?s ?p ?o } "
                    'FILTER (!STRENDS(STR(?g), "/graph/ontology")) }',
                    "text/tab-separated-values",
                )
            lines += [f"{name} {line}" for line in body.decode().splitlines()]
        return sorted(_STAMP.sub("*", x) if _READ_NOW.search(x) else x for x in lines)

    def hosts(self) -> list[str]:
        with self.dataset("twin") as twin:
            rows = twin.select(
                "PREFIX st: <https://w3id.org/supertwin/ns#> SELECT DISTINCT ?name "
                "{ ?host a st:ComputeNode ; st:hostname ?name } ORDER BY ?name"
            ).values()
        return [name for (name,) in rows]


@pytest.fixture
def site(fuseki: Fuseki, tmp_path: Path) -> Site:
    return Site(fuseki, tmp_path / "home")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "machines"
    path.mkdir()
    return path


def probed(host: str, number: int = 0, **facts: Any) -> dict[str, Any]:
    """A host with PCP and a unique sign."""
    sign = {"machine_id": f"{number or hash(host) % 10**9:032x}", "kernel": "6.1"}
    return document({"os": sign, "pcp": deepcopy(PCP), **facts}, host)


def write(folder: Path, facts: dict[str, Any], name: str = "") -> Path:
    path = folder / f"{name or facts['host']}.json"
    path.write_text(json.dumps(facts))
    return path


def refusals(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stderr.splitlines() if line.startswith("refused: ")]


def test_bulk_load_gives_the_graphs_of_single_loads(site: Site, folder: Path) -> None:
    other = probed("n3", 3)
    other["facts"]["pcp"]["metrics"][1]["units"] = "byte"
    another = probed("n5", 5)
    new = another["facts"]["pcp"]["metrics"][1] | {"name": "only.on.n5"}
    another["facts"]["pcp"]["metrics"].append(new)
    hosts = [probed("n1", 1), probed("n2", 2), other, probed("n4", 1), another]
    files = [write(folder, facts) for facts in [*hosts, probed("n6", 6)]]
    racks = [folder / f"rack{number}.xml" for number in range(3)]
    for number, path in enumerate(racks):
        path.write_bytes(synthetic(f"pack:{number + 1} numa:1 l2:2 core:1 pu:2"))
    original = folder / "an original.json"
    original.write_bytes((ROOT / "tests/ingest/machines/original.json").read_bytes())
    done = site.ingest("--bulk", folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("10 hosts loaded, 0 unchanged, 0 refused: ")
    bulk = site.content()
    warnings = [line for line in done.stderr.splitlines() if "same machine" in line]
    assert [line.partition(": ")[0] for line in warnings] == [str(folder / "n4.json")]
    drawn = sorted(p.name for p in (folder.parent / "home/topology").iterdir())
    assert drawn == ["rack0.xml", "rack1.xml", "rack2.xml"]
    site.drop()
    alone = [site.ingest("--supertwin-json", original)]
    alone += [site.ingest("--probe", path) for path in files]
    alone += [site.ingest("--hwloc", path, "--host", path.stem) for path in racks]
    assert [one.returncode for one in alone] == [0] * 10
    assert bulk == site.content()
    assert len(bulk) > 500
    listed = "".join(one.stderr for one in alone)
    assert all(line.partition("warning: ")[2] in listed for line in warnings)


def test_bad_file_affects_only_itself(site: Site, folder: Path) -> None:
    write(folder, probed("good"))
    text = json.dumps(probed("cut"))
    (folder / "cut.json").write_text(text[: len(text) // 2])
    wrong = probed("wrong")
    wrong["facts"]["pcp"]["metrics"] = "none"
    write(folder, wrong)
    faulty = probed("faulty")
    faulty["facts"]["disks"] = [{"name": "sda", "size": -1}]
    write(folder, faulty)
    write(folder, probed("same"), "a")
    write(folder, probed("same"), "b")
    bomb = '<!DOCTYPE x [<!ENTITY a "b">]><topology version="2.0">&a;</topology>'
    (folder / "bomb.xml").write_text(bomb)
    (folder / "what ever.xml").write_bytes(synthetic("core:1 pu:1"))
    (folder / "list.json").write_text("[1, 2]")
    (folder / "half.collected").write_bytes(b"")
    (folder / "README.md").write_text("about the machines")
    os.mkfifo(folder / "pipe")
    (folder / "also.txt").write_bytes(synthetic("core:2 pu:2"))
    done = site.ingest("--bulk", folder)
    assert done.returncode == 2
    assert done.stdout.startswith("2 hosts loaded, 0 unchanged, 10 refused: ")
    assert done.stdout.endswith(" triples/s)\n")
    assert site.hosts() == ["also", "good"]
    found = refusals(done)
    assert len(found) == 10
    for name in (
        *("cut.json", "wrong.json", "faulty.json", "a.json", "b.json", "bomb.xml"),
        *("what ever.xml", "list.json", "half.collected", "pipe"),
    ):
        (line,) = [x for x in found if str(folder / name) in x.split(": ", 2)[1]]
        assert len(line) > len(str(folder / name)) + 30
    assert f"{folder / 'README.md'} does not describe a machine: skipped" in done.stderr


def test_known_machines_are_recognised(site: Site, folder: Path) -> None:
    for number, host in enumerate(("n1", "n2", "n3"), 1):
        write(folder, probed(host, number))
    assert site.ingest("--bulk", folder).returncode == 0
    again = site.ingest("--bulk", folder)
    assert again.stdout.startswith("0 hosts loaded, 3 unchanged, 0 refused: 0 triples")
    changed = probed("n2", 2)
    changed["facts"]["os"]["kernel"] = "6.2"
    later = {"started": "2026-11-22T00:00:00Z", "ended": "2026-11-22T00:00:02Z"}
    write(folder, changed | later)
    write(folder, probed("n3", 33))
    done = site.ingest("--bulk", folder)
    assert done.returncode == 2
    assert done.stdout.startswith("1 hosts loaded, 1 unchanged, 1 refused: ")
    (why,) = refusals(done)
    assert "the twin n3 belongs to a machine with machine-id" in why
    assert "--confirm" in why
    with site.dataset("history") as history:
        states = read_states(history.select(states_query(IRIS, "n2")))
    assert [state.number for state in states] == [1, 2]
    confirmed = site.ingest("--bulk", folder, "--confirm")
    assert confirmed.stdout.startswith("1 hosts loaded, 2 unchanged, 0 refused: ")


def test_reader_sees_a_complete_host_or_none(site: Site, folder: Path) -> None:
    xml = synthetic("pack:2 numa:2 l3:2 l2:4 core:1 pu:2")
    for number in range(30):
        (folder / f"node{number}.xml").write_bytes(xml)
    seen: dict[str, set[int]] = {}
    ended = threading.Event()

    def look() -> None:
        with site.dataset("twin") as twin:
            while not ended.is_set():
                for graph, size in twin.select(
                    "SELECT ?g (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } "
                    "FILTER CONTAINS(STR(?g), '/twin/node') } GROUP BY ?g"
                ).values():
                    seen.setdefault(graph, set()).add(size)

    reader = threading.Thread(target=look)
    reader.start()
    try:
        done = site.ingest("--bulk", folder)
    finally:
        ended.set()
        reader.join()
    assert done.returncode == 0, done.stderr
    assert len(site.hosts()) == 30
    assert all(len(sizes) == 1 for sizes in seen.values())


def test_truncated_body_adds_nothing(site: Site) -> None:
    with site.dataset("twin") as twin:
        with pytest.raises(UpdateRefusedError):
            twin.add_quads(b"<urn:a> <urn:b> <urn:c> <urn:g> .\n<urn:a> <urn:b> <ur")
        assert not twin.ask("ASK { GRAPH ?g { ?s ?p ?o } }")


def test_invalid_arguments_are_refused(site: Site, folder: Path) -> None:
    for words, message in (
        ((folder,), "contains no files"),
        ((folder / "none",), "cannot be read (No such file or directory)"),
        ((folder, "--host", "n1"), "--bulk loads several"),
        ((folder, "--probe", "x"), "give one of"),
    ):
        done = site.ingest("--bulk", *words)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        assert message in done.stderr
