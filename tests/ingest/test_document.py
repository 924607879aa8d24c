"""Files that are not probe documents are refused in one line that says where."""

import copy
import json
from contextlib import suppress
from functools import partial
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdflib import Graph

from ingest.errors import ProbeDocumentError
from ingest.schema.check import check_document
from shapes.validate import validate
from tests.ingest.documents import IRIS, describe_json, whole

WHOLE = whole()
OTHER = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**400), 10**400)
    | st.integers(-3, 70_000)
    | st.floats()
    | st.text(st.characters(exclude_categories=[]), max_size=6)
    | st.sampled_from(["", ".", "..", "cpu0", "data", "\ud800", "\x00\n", "core"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=5,
)


def paths(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value in a document, except the document itself."""
    inner = node.items() if isinstance(node, dict) else enumerate(node)
    found = []
    for step, value in inner:
        found.append((*path, step))
        if isinstance(value, dict | list):
            found += paths(value, (*path, step))
    return found


PATHS = paths(WHOLE)


def changed(path: tuple[Any, ...], change: Any) -> dict[str, Any]:
    """The document after ``change(container, key)`` was called for one value."""
    document = copy.deepcopy(WHOLE)
    node: Any = document
    for step in path[:-1]:
        node = node[step]
    change(node, path[-1])
    return document


def replaced(path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    return changed(path, lambda node, step: node.__setitem__(step, value))


def twice(node: Any, step: Any) -> None:
    if isinstance(node, dict):
        node[f"{step} again"] = node[step]
    else:
        node.append(node[step])


def renamed(name: str, node: Any, step: Any) -> None:
    node[name] = node.pop(step)


@st.composite
def mutations(draw: st.DrawFn) -> dict[str, Any]:
    path = draw(st.sampled_from(PATHS))
    kind = draw(st.sampled_from(["replace", "remove", "twice", "swap"]))
    if kind == "remove":
        return changed(path, lambda node, step: node.pop(step))
    if kind == "twice":
        return changed(path, twice)
    if kind == "swap":
        other: Any = WHOLE
        for step in draw(st.sampled_from(PATHS)):
            other = other[step]
        return replaced(path, copy.deepcopy(other))
    return replaced(path, draw(OTHER))


def test_complete_document_gives_a_valid_description() -> None:
    check_document(WHOLE)
    description = describe_json(
        WHOLE, IRIS, ["mem.util.free", "kernel.percpu.cpu.user"]
    )
    assert validate(description.union()).lines == []


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(mutations())
def test_changed_document_gives_one_line_or_a_description(
    document: dict[str, Any],
) -> None:
    try:
        description = describe_json(document, IRIS, ["mem.util.free"])
    except ProbeDocumentError as error:
        assert len(str(error).splitlines()) == 1, error
        assert str(error).isprintable()
        assert len(str(error)) < 400
        return
    text = description.twin.ntriples() + description.probe.ntriples()
    assert len(Graph().parse(data=text, format="nt")) > 0


def test_texts_and_keys_may_be_invalid_in_iris() -> None:
    """Random changes hit one of these places only once in a hundred runs."""
    for path, unfit in product(PATHS, ["", ".", "..", "\ud800"]):
        documents = [replaced(path, unfit)]
        if isinstance(path[-1], str):
            documents.append(changed(path, partial(renamed, unfit)))
        for document in documents:
            with suppress(ProbeDocumentError):
                describe_json(document, IRIS, ["mem.util.free"])


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(mutations())
def test_description_can_be_validated(document: dict[str, Any]) -> None:
    try:
        description = describe_json(document, IRIS, ["mem.util.free"])
    except ProbeDocumentError:
        return
    report = validate(description.union())
    assert report.conforms or report.lines


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("facts", None, "facts is null, expected an object"),
        ("host", "", 'host is the text "", expected a name'),
        ("started", "today", 'started is the text "today", expected a time such as'),
        ("sources.lshw.ok", 1, "sources.lshw.ok is the number 1, expected true or"),
        (
            "facts.hwloc.caches.0.size",
            "big",
            'facts.hwloc.caches[0].size is the text "big", expected a whole number',
        ),
        ("facts.hwloc.caches.0.type", [], "type is a list, expected data, instruction"),
        ("facts.hwloc.threads", {}, "threads is an object, expected a list"),
        ("facts.hwloc.threads.0.os_index", -1, "from 0 to 65535"),
        ("facts.hwloc.cores.0.threads", [99], "one of the cores has a CPU"),
        ("facts.hwloc.numa.1.os_index", 0, "facts.hwloc: NUMANode 0 occurs twice"),
        ("facts.pcp.metrics.1", 7, "facts.pcp.metrics[1] is the number 7"),
        ("facts.pcp.metrics.1.name", "x\n" * 99, "facts.pcp.metrics[1].name"),
        (
            "facts.pcp.indoms.60.0.instances.0",
            ["cpu0", 0, 1],
            'facts.pcp.indoms["60.0"].instances[0] is a list, expected a list of two',
        ),
        ("facts.cpu.sockets.0.flags", 1e400, "is the number Infinity, expected a list"),
        ("facts.lshw.memory_banks.0.slot", "..", 'is the text "..", expected a name'),
    ],
)
def test_error_names_position_value_and_expectation(
    path: str, value: Any, message: str
) -> None:
    steps: list[Any] = path.replace("60.0", "60:0").split(".")
    steps = [
        int(s) if s.isdecimal() and steps[at - 1] != "sockets" else s.replace(":", ".")
        for at, s in enumerate(steps)
    ]
    if path.endswith(".name"):
        value = [value]
    with pytest.raises(ProbeDocumentError) as caught:
        check_document(replaced(tuple(steps), value))
    assert message in str(caught.value)
    fix = "write it again with `supertwin probe --out FILE`"
    assert str(caught.value).endswith(fix)


@pytest.mark.parametrize("xml", [None, 7, "<topology/>"])
def test_xml_that_is_not_text_counts_as_none(xml: Any) -> None:
    document = replaced(("facts", "hwloc", "xml"), xml)
    kept = check_document(document).facts.hwloc.xml
    assert kept == (xml if isinstance(xml, str) else None)


def test_failed_source_has_the_facts_of_a_missing_one() -> None:
    null = {"facts": dict.fromkeys(WHOLE["facts"])}
    missing = check_document(WHOLE | {"facts": {}}).facts
    assert check_document(WHOLE | null).facts == missing
    assert missing.hwloc.threads == missing.metrics == missing.disks == []


def test_missing_key_is_named() -> None:
    document = changed(("facts", "pcp", "indoms"), lambda node, step: node.pop(step))
    with pytest.raises(
        ProbeDocumentError, match=r"^facts\.pcp\.indoms is missing: write"
    ):
        check_document(document)


@pytest.mark.parametrize("document", [None, [], 7, {}, "x", json.loads("[[]]")])
def test_other_json_is_refused(document: Any) -> None:
    with pytest.raises(ProbeDocumentError):
        check_document(document)
