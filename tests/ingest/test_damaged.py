"""Files about machines with all sorts of damage: one-line errors, and no harm."""

import json
import resource
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest import machine_files as files
from ingest.errors import IngestError
from ingest.hwloc.read import parse_hwloc
from ingest.original.probe_file import parse_original
from ingest.probe import hwloc_document
from ingest.schema.schema import ProbeDocument
from ontology.iris import Iris
from shapes.validate import validate
from tests.ingest.documents import describe_json

OWN = Path(__file__).parent / "machines"
MACHINES = Path(__file__).parents[3] / "shared/machines"
XML = OWN / "everything.v3.xml"
ORIGINAL = OWN / "original.json"
PLACES = 50
IRIS = Iris("http://localhost:8000")

Ingest = Callable[[Path], ProbeDocument]


def from_hwloc(path: Path) -> ProbeDocument:
    return files.hwloc_file(path, "n1")


def document_of(path: Path) -> dict[str, Any]:
    return hwloc_document("n1", parse_hwloc(path.read_bytes()))


def ingest_of(path: Path) -> Ingest:
    return from_hwloc if path.suffix == ".xml" else files.original_file


ALL = [XML, ORIGINAL]
ALL += sorted(MACHINES.glob("hwloc/*.xml")) + sorted(MACHINES.glob("supertwin/*.json"))


def refused(ingest: Ingest, path: Path, *words: str) -> None:
    """Assert that ingest fails with one line that names the file."""
    with pytest.raises(IngestError) as caught:
        ingest(path)
    error_text = str(caught.value)
    assert error_text.startswith(str(path))
    assert "\n" not in error_text and len(error_text) < 500
    for word in words:
        assert word in error_text


@pytest.mark.parametrize("source", ALL, ids=lambda path: path.name)
def test_truncated_files_are_refused(tmp_path: Path, source: Path) -> None:
    content = source.read_bytes().rstrip()
    path = tmp_path / f"cut{source.suffix}"
    for place in range(PLACES):
        path.write_bytes(content[: len(content) * place // PLACES])
        refused(ingest_of(source), path)


def test_probe_file_truncated_at_fifty_places_is_refused(tmp_path: Path) -> None:
    content = json.dumps(document_of(XML)).encode()
    path = tmp_path / "cut.json"
    for place in range(PLACES):
        path.write_bytes(content[: len(content) * place // PLACES])
        refused(files.probe_file, path)


BOMB = "".join(
    f'<!ENTITY {name} "{"&" + below + ";" if below else "ha"}">'.replace(
        f"&{below};", f"&{below};" * 10
    )
    for name, below in zip("abcdefghi", ["", *"abcdefgh"], strict=True)
)
DOCTYPES = {
    "a-billion-laughs": (f"[{BOMB}]", "&i;"),
    "an-external-entity": ('[<!ENTITY x SYSTEM "file:///etc/passwd">]', "&x;"),
    "an-external-parameter": ('[<!ENTITY % x SYSTEM "http://192.0.2.1/">%x;]', ""),
}


@pytest.mark.parametrize(
    "source", [p for p in ALL if p.suffix == ".xml"], ids=lambda p: p.name
)
@pytest.mark.parametrize("kind", DOCTYPES)
def test_entities_are_refused(tmp_path: Path, source: Path, kind: str) -> None:
    declared, used = DOCTYPES[kind]
    text = source.read_text("utf-8")
    text = text.replace('SYSTEM "hwloc2.dtd"', declared)
    text = text.replace('type="PU"', f'type="PU" name="{used}"')
    path = tmp_path / "hostile.xml"
    path.write_text(text)
    refused(from_hwloc, path, "entit")


@pytest.mark.parametrize(
    "source", [p for p in ALL if p.suffix == ".xml"], ids=lambda p: p.name
)
def test_wrong_root_or_duplicate_number_is_refused(
    tmp_path: Path, source: Path
) -> None:
    text = source.read_text("utf-8")
    path = tmp_path / "changed.xml"
    path.write_text(text.replace("<topology", "<svg").replace("</topology", "</svg"))
    refused(from_hwloc, path, "<svg>")
    for kind in ("PU", "NUMANode"):
        start = text.index(f'<object type="{kind}"')
        end = text.index(">", start)
        thing = text[start:end].removesuffix("/")
        path.write_text(f"{text[:start]}{thing}/>{text[start:]}")
        refused(from_hwloc, path, f"{kind} ", "occurs twice")


@pytest.mark.parametrize("ingest", [from_hwloc, files.original_file, files.probe_file])
def test_huge_file_is_refused_by_its_size(tmp_path: Path, ingest: Ingest) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(500_000_000)
    tracemalloc.start()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    with pytest.raises(IngestError, match="larger than"):
        ingest(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_utime - before < 1


# --- real files with random changes: facts or a one-line error, nothing else ---

WORDS = st.sampled_from(
    ["", "0", "-1", "1", "7", "64", "0x0", "0x1", "0xf...f", "99999999999999999999"]
    + ["NUMANode", "PU", "Core", "Machine", "Group", "MemCache", "OSDev", "Bridge"]
    + ["1e999", "nan", "٣", "é", "null", "0000:00:00.0", "a/b", ".", "\ud7ff"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2**70) | st.floats() | WORDS,
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2)
    ),
    max_leaves=4,
)
BOUNDED = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
LINES = XML.read_text("utf-8").splitlines()


def fixed(line: str, words: list[str]) -> str:
    """The line with the given words as attribute values, as far as they reach."""
    parts = line.split('"')
    for place, word in zip(range(1, len(parts) - 1, 2), words, strict=False):
        parts[place] = word or parts[place]
    return '"'.join(parts)


@given(
    changes=st.lists(
        st.tuples(
            st.integers(3, len(LINES) - 2),
            st.sampled_from(["change", "drop", "repeat", "move"]),
            st.lists(WORDS, max_size=6),
        ),
        min_size=1,
        max_size=4,
    )
)
@BOUNDED
def test_changed_xml_gives_facts_or_one_line(
    changes: list[tuple[int, str, list[str]]],
) -> None:
    lines = list(LINES)
    for place, what, words in changes:
        place = min(place, len(lines) - 2)
        line = lines[place]
        lines[place : place + 1] = {
            "change": [fixed(line, words)],
            "drop": [],
            "repeat": [line, line],
            "move": [lines[-2], line],
        }[what]
    try:
        document = {"hwloc": parse_hwloc("\n".join(lines).encode())}
    except IngestError as error:
        assert "\n" not in str(error)
        return
    judged(document)


def replaced(value: Any, path: list[int], new: Any) -> Any:
    """A copy with one part replaced; numbers give the path, at any depth."""
    if not path or not isinstance(value, dict | list) or not value:
        return new
    place = path[0] % len(value)
    if isinstance(value, list):
        inner = replaced(value[place], path[1:], new)
        return [*value[:place], inner, *value[place + 1 :]]
    key = list(value)[place]
    return {**value, key: replaced(value[key], path[1:], new)}


CHANGES = st.lists(
    st.tuples(st.lists(st.integers(0, 30), min_size=1, max_size=6), JSON),
    min_size=1,
    max_size=3,
)


@given(changes=CHANGES)
@BOUNDED
def test_changed_files_of_the_original_give_facts_or_one_line(
    changes: list[tuple[list[int], Any]],
) -> None:
    content = json.loads(ORIGINAL.read_text("utf-8"))
    for path, new in changes:
        content = replaced(content, path, new)
    try:
        facts = parse_original(json.dumps(content).encode())
    except IngestError as error:
        assert "\n" not in str(error)
        return
    judged(facts)


@given(changes=CHANGES)
@BOUNDED
def test_changed_probe_file_is_described_or_refused(
    changes: list[tuple[list[int], Any]],
) -> None:
    facts = document_of(XML)["facts"]
    for path, new in changes:
        facts = replaced(facts, path, new)
    judged(facts)


def judged(facts: Any) -> None:
    """Describe facts that can be described, and validate them without an exception."""
    document = {
        "format": "supertwin-probe/1",
        "host": "n1",
        "started": "2026-11-21T00:00:00Z",
        "ended": "2026-11-21T00:00:01Z",
        "sources": {},
        "facts": facts,
    }
    try:
        description = describe_json(document, IRIS)
    except IngestError as error:
        assert "\n" not in str(error)
        return
    assert all("\n" not in line for line in validate(description.union()).lines)
