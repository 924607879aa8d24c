"""Files that are not our exports: a one-line error, exit status 2, nothing loaded."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dtdl.errors import DtdlDocumentError
from dtdl.read import read
from tests.dtdl.conftest import Document, Installation
from tests.dtdl.twins import BASE, Twin, everything


def one_line(installation: Installation, path: Path, *words: str) -> None:
    done = installation.run("import", "dtdl", str(path))
    assert done.exit_code == 2, done.output
    assert len(done.output.strip().splitlines()) == 1, done.output
    assert str(path) in done.output
    for word in words:
        assert word in done.output
    assert installation.graphs() == {}


def test_truncated_file_is_refused(installation: Installation, odd: Twin) -> None:
    text, path = odd.document(2), installation.folder / "cut.json"
    for part in range(50):
        path.write_bytes(text[: len(text) * part // 50])
        one_line(installation, path, "not valid JSON")


def test_deep_nesting_is_refused(installation: Installation) -> None:
    path = installation.folder / "deep.json"
    for text in ("[" * 200_000, '{"a":' * 200_000, "9" * 10_000):
        path.write_text(text)
        one_line(installation, path, "not valid JSON")


def test_file_of_500_megabytes_is_refused(installation: Installation) -> None:
    path = installation.folder / "large.json"
    with path.open("wb") as file:
        file.truncate(500_000_000)
    one_line(installation, path, "larger than")


def test_pipe_and_folder_are_not_read(installation: Installation) -> None:
    pipe = installation.folder / "pipe"
    os.mkfifo(pipe)
    one_line(installation, pipe, "check that it is a regular file")
    one_line(installation, installation.folder, "check that it is a regular file")
    one_line(installation, installation.folder / "none.json", "does not exist")


def _contents(document: Document, kind: str) -> Iterator[dict[str, Any]]:
    for interface in document:
        yield from (c for c in interface["contents"] if kind in c["@type"])


def _set(name: str, value: Any) -> Callable[[Document], None]:
    return lambda document: document[1].update({name: value})


def _set_content(kind: str, name: str, value: Any) -> Callable[[Document], None]:
    return lambda document: next(_contents(document, kind)).update({name: value})


def _twice(document: Document) -> None:
    document.append(dict(document[1], contents=[]))


def _content_twice(document: Document) -> None:
    telemetry = next(_contents(document, "SWTelemetry"))
    document[0]["contents"].append(dict(telemetry, name="another"))


def _empty(interface: dict[str, Any], id_: str) -> dict[str, Any]:
    return {**interface, "@id": id_, "contents": []}


def _two_hosts(document: Document) -> None:
    document.append(_empty(document[0], "dtmi:supertwin:twin:n2;1"))


def _of_another_host(document: Document) -> None:
    document.append(_empty(document[-1], "dtmi:supertwin:twin:n2:disk:x;1"))


def _graph_of_another(document: Document) -> None:
    document.append(_empty(document[-1], "dtmi:supertwin:graph:twin:n2;1"))


def _page_of_another_host(document: Document) -> None:
    id_ = "dtmi:supertwin:twin:n2;1"
    node = {**_empty(document[-1], id_), "@type": ["Interface", "Node"]}
    document.append({**node, "continues": id_})


def _lost(document: Document) -> None:
    lost = next(i for i in document if "Socket" in i["@type"])
    document.remove(lost)


def _forged_hash(document: Document) -> None:
    for interface in document:
        if "iri" in interface:
            interface["iri"] = "/twin/n2/disk/x"


def _no_iri(document: Document) -> None:
    for interface in document:
        interface.pop("iri", None)


def _foreign_context(document: Document) -> None:
    document[0]["@context"] = "https://schema.org"


def _breaks_out(document: Document) -> None:
    value = {"@id": "urn:x> . } } ; DROP ALL ; #"}
    next(_contents(document, "Value"))["value"] = value


def _dtmi_breaks_out(document: Document) -> None:
    id_ = "dtmi:supertwin:twin:hh1_x5Fodd_x2Ehost:disk:a_x3E_x20;1"
    document.append(_empty(document[-1], id_))


BAD: dict[str, tuple[Callable[[Document], None], str]] = {
    "version 3": (_set("@context", ["dtmi:dtdl:context;3",
        "dtmi:dtdl:extension:quantitativeTypes;1"]), "version 3"),
    "version 9": (_set("@context", "dtmi:dtdl:context;9"), "unknown"),
    "no context": (_set("@context", None), "unknown"),
    "foreign context": (_foreign_context, "schema.org"),
    "@id twice": (_twice, "described twice"),
    "@id of a content twice": (_content_twice, "described twice"),
    "two hosts": (_two_hosts, "2 hosts"),
    "another host's": (_of_another_host, "twin:n2"),
    "another host's, as a page": (_page_of_another_host, "is not a part of"),
    "not of a twin": (_graph_of_another, "is not a part of"),
    "a target that is not there": (_lost, "which is not in the file"),
    "hash of another": (_forged_hash, "is not the hash"),
    "hash of nothing": (_no_iri, "has no iri"),
    "an IRI that breaks out": (_breaks_out, "is not an IRI"),
    "a DTMI that breaks out": (_dtmi_breaks_out, "is not an IRI"),
    "foreign DTMI": (_set("@id", "dtmi:com:example;1"), "not a DTMI"),
    "@id is a number": (_set("@id", 7), "is not text"),
    "contents is a text": (_set("contents", "x"), "contents is not a list"),
    "a content is a text": (_set("contents", ["x"]), "is not an object"),
    "no @type": (_set("@type", None), "has the @type"),
    "@type of an object": (_set("@type", [{}]), "has the @type"),
    "bare @type": (_set("@type", "Interface"), "SuperTwin did not export it"),
    "@type that breaks out": (_set("@type", ["Interface", "a> b"]), "has the @type"),
    "unknown property": (
        _set_content("Value", "name", "legs"),
        "not a SuperTwin property",
    ),
    "unknown member": (_set_content("SWTelemetry", "legs", 4), "is not a member"),
    "no value": (_set_content("Value", "value", None), "is not a value"),
    "value of a value": (_set_content("Value", "value", [[1]]), "is not a value"),
    "value beyond numbers": (_set_content("Value", "value", 1e400), "is not a value"),
    "no time": (_set_content("Value", "value",
        {"@value": "soon", "@type": "xsd:dateTime"}), "is not a valid dateTime"),
    "misplaced": (_set_content("SWTelemetry", "@type", ["Telemetry", "Disk"]),
        "cannot be a content"),
    "a page of nothing": (_set("continues", "dtmi:supertwin:x;1"), "not in the file"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_deviating_document_is_refused(two: Document, name: str) -> None:
    damage, found = BAD[name]
    damage(two)
    with pytest.raises(DtdlDocumentError) as raised:
        read(json.dumps(two).encode(), BASE)
    assert found in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("text", ["[]", "{}", "7", "null", '"x"', "[7]", "[[]]", ""])
def test_invalid_document_is_refused(text: str) -> None:
    with pytest.raises(DtdlDocumentError):
        read(text.encode(), BASE)


def test_strict_version_is_refused(odd: Twin) -> None:
    for version in (3, 4):
        with pytest.raises(
            DtdlDocumentError, match=f"version {version} cannot contain"
        ):
            read(odd.document(version), BASE)


TEXT = everything().document(2)
WORDS = st.sampled_from(
    ["@id", "@type", "@context", "contents", "name", "value", "iri", "target", "Value"]
)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), WORDS, JUNK)
def test_damaged_document_gives_no_traceback(where: int, name: str, junk: Any) -> None:
    """A random member of a random element gets a random value."""
    document = json.loads(TEXT)
    elements = [e for i in document for e in (i, *i["contents"])]
    elements[where % len(elements)][name] = junk
    try:
        read(json.dumps(document).encode(), BASE)
    except DtdlDocumentError as error:
        assert "\n" not in str(error)
