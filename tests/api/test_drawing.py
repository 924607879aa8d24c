"""Drawings of synthetic and real machines: each box links to the component it shows."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, fromstring

import httpx
import pytest

from ingest.hwloc.read import parse_hwloc
from ingest.hwloc.topology_file import keep_xml, topology_path
from ingest.hwloc.xml import parse_topology
from ingest.probe import hwloc_document
from ontology.iris import Iris
from ontology.terms import ST
from tests.api.servers import Api
from tests.ingest.documents import describe_json
from tests.servers import Fuseki

BASE = "http://twin.example:8000"
IRIS = Iris(BASE)
MACHINES = Path(__file__).parents[3] / "shared/machines/hwloc"
FOUND = sorted(MACHINES.glob("*.xml"))
SYNTHETIC = {
    "laptop": "pack:1 l3:1 l2:2 core:1 pu:2",
    "server": "pack:2 numa:2 l3:2 l2:4 l1d:1 l1i:1 core:1 pu:2(indexes=2*32:1*2)",
    "groups": "pack:2 group:2 die:2 l2:2 core:2 pu:1",
    "large": "pack:2 numa:4 l3:2 l2:4 l1d:1 core:1 pu:2(indexes=2*64:1*2)",
}
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>alert(1)</script>&x"


class Site:
    """An API with its own graph and state folder."""

    def __init__(self, fuseki: str, home: Path, api: str) -> None:
        self.fuseki, self.home, self.url = fuseki, home, api

    def add(self, host: str, xml: bytes) -> None:
        self.put(hwloc_document(host, parse_hwloc(xml)))

    def put(self, document: dict[str, Any]) -> None:
        """Store what `supertwin ingest` stores, without its checks."""
        body = describe_json(document, IRIS).twin.ntriples().encode()
        graph = f"{self.fuseki}/twin/data"
        params = {"graph": str(IRIS.twin_graph(document["host"]))}
        headers = {"Content-Type": "application/n-triples"}
        sent = httpx.put(
            graph, params=params, content=body, headers=headers, timeout=120
        )
        assert sent.is_success, sent.text
        xml = document["facts"]["hwloc"]["xml"]
        assert keep_xml(self.home, document["host"], xml) == ""

    def get(self, path: str, accept: str = "*/*") -> httpx.Response:
        return httpx.get(self.url + path, headers={"Accept": accept}, timeout=120)

    def drawing(self, host: str, query: str = "") -> Element:
        answer = self.get(f"/twin/{host}/drawing{query}")
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == "image/svg+xml"
        return fromstring(answer.text)

    def components(self, host: str) -> dict[str, set[str]]:
        """Return the IRIs of a host's components in the graph, by kind."""
        node = IRIS.host(host)
        query = f"SELECT ?s {{ ?s <{ST.isPartOf}>+ <{node}> }}"
        rows = httpx.post(
            f"{self.fuseki}/twin/sparql",
            data={"query": query},
            headers={"Accept": "application/sparql-results+json"},
            timeout=120,
        ).json()["results"]["bindings"]
        found: dict[str, set[str]] = {}
        for row in rows:
            iri = row["s"]["value"]
            found.setdefault(iri.split("/")[-2], set()).add(iri)
        return found


@pytest.fixture(scope="module")
def site(
    emptied_fuseki: Fuseki, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    home = tmp_path_factory.mktemp("home")
    with Api(
        tmp_path_factory.mktemp("api"),
        base=BASE,
        home=str(home),
        fuseki_url=emptied_fuseki.url,
        store_read_url="http://127.0.0.1:9",
    ) as api:
        yield Site(emptied_fuseki.url, home, api.url)


def lstopo(text: str) -> bytes:
    command = ["lstopo-no-graphics", "--input", text, "--of", "xml"]
    return subprocess.run(command, capture_output=True, check=True).stdout


def boxes(svg: Element) -> dict[str, list[str]]:
    """Return the IRIs of the boxes that are links, by kind."""
    found: dict[str, list[str]] = {}
    for link in svg.iter(f"{SVG}a"):
        assert link.find(f"{SVG}rect") is not None
        found.setdefault(link.attrib["data-kind"], []).append(link.attrib["data-iri"])
    return found


def drawn_threads(xml: bytes) -> set[str]:
    """Return the OS indexes of the PUs that are objects in the topology."""
    return {str(unit.os_index) for unit in parse_topology(xml).all_things("PU")}


def check(site: Site, host: str, xml: bytes) -> None:
    site.add(host, xml)
    svg = site.drawing(host)
    found, known = boxes(svg), site.components(host)
    threads = [iri.rpartition("/")[2] for iri in found["thread"]]
    assert sorted(threads) == sorted(drawn_threads(xml))
    for kind, iris in found.items():
        assert len(set(iris)) == len(iris), kind
        assert kind == "host" or set(iris) <= known[kind], kind
    for kind in ("core", "cache", "die", "socket", "numa"):
        assert set(found.get(kind, ())) == known.get(kind, set()), kind
    assert found["host"] == [f"{BASE}/twin/{host}"]
    check_texts(svg)


def check_texts(svg: Element) -> None:
    """Check that lstopo's number in a box is that of the linked component."""
    checked, last = 0, ("", "")
    for element in svg:
        if element.tag == f"{SVG}a":
            last = (element.attrib["data-kind"], element.attrib.get("data-id", ""))
        text = element.text or ""
        kind = {"PU": "thread", "NUMANode": "numa"}.get(text.split(" ")[0], "")
        if element.tag == f"{SVG}text" and kind and "P#" in text:
            number = text.partition("P#")[2].split(" ")[0]
            assert last == (kind, number), text
            checked += 1
    assert checked


@pytest.mark.parametrize("name", SYNTHETIC)
def test_synthetic_machines_are_drawn(site: Site, name: str) -> None:
    check(site, name, lstopo(SYNTHETIC[name]))


@pytest.mark.parametrize("path", FOUND or [None], ids=lambda path: path and path.stem)
def test_real_machines_are_drawn(site: Site, path: Path | None) -> None:
    if path is None:
        print(f"no topologies of real machines at {MACHINES}: none drawn")
        return
    host = "real-" + "".join(c if c.isalnum() else "-" for c in path.stem)
    check(site, host[:60].strip("-"), path.read_bytes())


def test_drawing_scales_and_holds_no_active_content(site: Site) -> None:
    site.add("plain", lstopo(SYNTHETIC["server"]))
    svg = site.drawing("plain")
    assert svg.attrib["viewBox"] == f"0 0 {svg.attrib['width']} {svg.attrib['height']}"
    assert {element.tag.removeprefix(SVG) for element in svg.iter()} == {
        *("svg", "style", "a", "title", "rect", "text"),
    }
    for element in svg.iter():
        assert not {name for name in element.attrib if name.startswith("on")}
        assert "fill" not in element.attrib and "style" not in element.attrib
        if element.tag == f"{SVG}rect":
            assert 0 <= float(element.attrib["x"]) < float(svg.attrib["width"])
    headers = site.get("/twin/plain/drawing").headers
    assert headers["content-security-policy"].startswith("default-src 'none'")


def with_devices(xml: bytes) -> bytes:
    """Add three disks and a network interface to the topology."""
    name = HOSTILE.replace("&", "&amp;").replace("<", "&lt;")
    given = (("vda", 0), (name, 0), ("cciss!c0d0", 0), ("eth0", 2))
    devices = "".join(
        f'<object type="OSDev" gp_index="{90 + number}" name="{text}" '
        f'osdev_type="{type_}"/>'
        for number, (text, type_) in enumerate(given)
    )
    end = xml.rindex(b"</object>")
    return xml[:end] + devices.encode() + xml[end:]


def test_names_of_devices_stay_text(site: Site) -> None:
    xml = with_devices(lstopo("pack:1 core:1 pu:1"))
    document = hwloc_document("devices", parse_hwloc(xml))
    document["facts"]["disks"] = [
        {"name": text} for text in ("vda", HOSTILE, "cciss/c0d0")
    ]
    document["facts"]["nics"] = [{"name": "eth0"}]
    site.put(document)
    svg = site.drawing("devices")
    assert boxes(svg)["nic"] == [f"{BASE}/twin/devices/nic/eth0"]
    assert set(boxes(svg)["disk"]) == {
        str(IRIS.component("devices", "disk", text))
        for text in ("vda", HOSTILE, "cciss/c0d0")
    }
    labels = [title.text for title in svg.iter(f"{SVG}title")]
    assert HOSTILE in labels
    assert not [e for e in svg.iter() if e.tag.removeprefix(SVG) == "script"]
    page = site.get("/twin/devices/drawing", "text/html").text
    assert "<script>alert" not in page and "&lt;script&gt;alert" in page


def test_requested_component_is_marked(site: Site) -> None:
    site.add("marked", lstopo("pack:1 core:2 pu:2"))
    core = f"{BASE}/twin/marked/core/core-2"
    marked = [
        link.attrib["data-iri"]
        for link in site.drawing("marked", f"?mark={core}").iter(f"{SVG}a")
        if "marked" in link.find(f"{SVG}rect").attrib["class"]  # type: ignore[union-attr]
    ]
    assert marked == [core]
    assert site.get("/twin/marked/drawing?mark=%22%3E%3Cb%3E").status_code == 200


def test_new_topology_is_drawn(site: Site) -> None:
    for threads in (2, 6):
        site.add("changing", lstopo(f"pack:1 core:{threads} pu:1"))
        assert len(boxes(site.drawing("changing"))["thread"]) == threads


def test_components_missing_in_the_graph_are_not_linked(site: Site) -> None:
    site.add("shrunk", lstopo("pack:1 core:2 pu:1"))
    keep_xml(site.home, "shrunk", lstopo("pack:2 core:2 pu:1").decode())
    found = boxes(site.drawing("shrunk"))
    assert len(found["thread"]) == 2 and len(found["socket"]) == 1


def test_disallowed_threads_are_marked(site: Site) -> None:
    xml = lstopo("pack:1 core:4 pu:1")
    less = xml.replace(b'allowed_cpuset="0x0000000f"', b'allowed_cpuset="0x00000007"')
    assert less != xml
    site.add("less", less)
    off = [
        link.attrib["data-id"]
        for link in site.drawing("less").iter(f"{SVG}a")
        if " off" in link.find(f"{SVG}rect").attrib["class"]  # type: ignore[union-attr]
    ]
    assert off == ["3"]


def test_missing_topology_names_the_fix(site: Site) -> None:
    site.add("bare", lstopo("pack:1 core:1 pu:1"))
    topology_path(site.home, "bare").unlink()
    answer = site.get("/twin/bare/drawing")
    assert answer.status_code == 404
    detail = answer.json()["detail"]
    assert "supertwin ingest" in detail and "--hwloc FILE --host bare" in detail
    assert str(site.home) not in detail
    assert "/drawing" not in site.get("/twin/bare", "text/html").text
    unknown = site.get("/twin/nobody/drawing")
    assert unknown.status_code == 404
    assert "no host 'nobody'; known: " in unknown.json()["detail"]
    assert site.get("/twin/bare/drawing", "text/turtle").status_code == 406


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no XML", "is damaged or truncated"),
        (b'<!DOCTYPE t [<!ENTITY x SYSTEM "/etc/passwd">]><t>&x;</t>', "entity"),
        (b"<topology><object type='Machine'/></topology>", "no PU"),
        (b"<a>" * 3000 + b"</a>" * 3000, "is not a topology"),
    ],
    ids=["text", "entity", "empty", "deep"],
)
def test_damaged_file_gives_one_line(site: Site, content: bytes, message: str) -> None:
    site.add("damaged", lstopo("pack:1 core:1 pu:1"))
    topology_path(site.home, "damaged").write_bytes(content)
    answer = site.get("/twin/damaged/drawing")
    assert answer.status_code == 502
    detail = answer.json()["detail"]
    assert "\n" not in detail and "passwd" not in detail
    assert message in detail
