import re
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdflib import URIRef

from ontology.iris import (
    NO_INSTANCE,
    IdError,
    Iris,
    decode_id,
    encode_id,
)

BASE = "http://localhost:8000"
IRIS = Iris(BASE)
SEGMENT = re.compile(r"(?:[A-Za-z0-9_.-]|~[0-9A-F]{2})+")

# Surrogates have no UTF-8 form and cannot come from a decoded file name.
texts = st.text(st.characters(exclude_categories=["Cs"])).filter(
    lambda text: text not in ("", ".", "..")
)


@given(texts)
def test_encoded_id_round_trips(text: str) -> None:
    assert decode_id(encode_id(text)) == text


@given(texts)
def test_encoded_id_is_one_plain_path_segment(text: str) -> None:
    assert SEGMENT.fullmatch(encode_id(text))


@given(texts, texts)
def test_different_ids_are_encoded_differently(one: str, other: str) -> None:
    assert (encode_id(one) == encode_id(other)) == (one == other)


@given(st.text())
def test_decoded_segment_is_encoded_the_same_again(segment: str) -> None:
    try:
        text = decode_id(segment)
    except IdError:
        return
    assert encode_id(text) == segment


@pytest.mark.parametrize(
    ("text", "segment"),
    [
        ("node1.example.org", "node1.example.org"),
        ("INST_RETIRED:ANY", "INST_RETIRED~3AANY"),
        ("/dev/sda 1", "~2Fdev~2Fsda~201"),
        ("~", "~7E"),
        ("~3A", "~7E3A"),
        ("é", "~C3~A9"),
        ("...", "..."),
        ("\x00", "~00"),
    ],
)
def test_documented_examples_are_correct(text: str, segment: str) -> None:
    assert encode_id(text) == segment


@pytest.mark.parametrize("text", ["", ".", ".."])
def test_ids_that_clients_would_normalise_are_refused(text: str) -> None:
    with pytest.raises(IdError, match="at least one letter or digit"):
        encode_id(text)


@pytest.mark.parametrize(
    "segment",
    [
        "",
        ".",
        "..",
        NO_INSTANCE,
        "~3a",  # lower case: a second spelling of one id
        "~41",  # "A" needs no escape
        "~3",
        "a b",
        "a/b",
        "é",
        "~FF",  # not UTF-8
        "~C3",
        "~2E",  # "."
    ],
)
def test_segments_that_encode_no_id_are_refused(segment: str) -> None:
    with pytest.raises(IdError):
        decode_id(segment)


@given(texts)
def test_encoded_id_never_equals_the_marker_for_no_instance(text: str) -> None:
    assert encode_id(text) != NO_INSTANCE


@given(texts, st.none() | texts, texts, st.none() | texts)
def test_telemetry_iris_are_injective(
    metric: str, instance: str | None, other_metric: str, other: str | None
) -> None:
    same = IRIS.telemetry("n1", metric, instance) == IRIS.telemetry(
        "n1", other_metric, other
    )
    assert same == ((metric, instance) == (other_metric, other))


@given(texts, texts)
def test_iris_are_valid_and_keep_their_path(host: str, id_: str) -> None:
    iri = IRIS.component(host, "thread", id_)
    parts = urlsplit(str(iri))
    assert parts.path == f"/twin/{encode_id(host)}/thread/{encode_id(id_)}"
    assert not parts.query
    assert not parts.fragment
    assert iri.n3() == f"<{iri}>"


@pytest.mark.parametrize(
    ("iri", "path"),
    [
        (IRIS.host("n1"), "/twin/n1"),
        (IRIS.component("n1", "cache", "l2-0"), "/twin/n1/cache/l2-0"),
        (IRIS.metric_instance("n1", "60.0", "cpu0"), "/twin/n1/instance/60.0/cpu0"),
        (IRIS.telemetry("n1", "hinv.ncpu", None), "/twin/n1/telemetry/hinv.ncpu/~"),
        (IRIS.telemetry("n1", "a.b", "~"), "/twin/n1/telemetry/a.b/~7E"),
        (IRIS.metric("hinv.ncpu"), "/metric/hinv.ncpu"),
        (IRIS.metric("hinv.ncpu", "1a2b"), "/metric/hinv.ncpu~~1a2b"),
        (IRIS.instance_domain("60.0"), "/indom/60.0"),
        (IRIS.pmu("spr"), "/pmu/spr"),
        (IRIS.pmu_event("spr", "A:B"), "/pmu/spr/A~3AB"),
        (IRIS.twin_graph("n1"), "/graph/twin/n1"),
        (IRIS.plans_graph("n1"), "/graph/plans/n1"),
        (IRIS.plan_graph("n1", "fast"), "/graph/plans/n1/fast"),
        (IRIS.pmu_graph("spr"), "/graph/pmu/spr"),
        (IRIS.metrics_graph, "/graph/metrics"),
        (IRIS.model("n1", "a", "term", "1"), "/model/n1/a/term/1"),
        (IRIS.model_graph("n1", "a"), "/graph/model/n1/a"),
    ],
)
def test_iris_have_their_paths(iri: URIRef, path: str) -> None:
    assert str(iri) == BASE + path


@given(texts, texts)
def test_metric_variant_is_not_a_metric(name: str, other: str) -> None:
    assert IRIS.metric(name, "1a2b") != IRIS.metric(other)


def test_slash_after_the_base_changes_nothing() -> None:
    assert Iris(f"{BASE}/").host("n1") == IRIS.host("n1")


def test_each_graph_has_another_graph_for_what_follows() -> None:
    of_hosts = (IRIS.twin_graph, IRIS.plans_graph, IRIS.cgroups_graph)
    hosts = ("n1", "metrics", "roles", "plans", "pmu")
    graphs = [IRIS.metrics_graph, IRIS.roles_graph, IRIS.observation_graph("1")]
    graphs += [graph(host) for graph in of_hosts for host in hosts]
    graphs += [IRIS.plan_graph("n1", "fast"), IRIS.pmu_graph("skx")]
    found = {IRIS.entailed_graph(graph) for graph in graphs}
    assert len(found) == len(graphs)
    of_host = IRIS.entailed_graph(IRIS.twin_graph("n1"))
    assert str(of_host) == f"{BASE}/graph/entailed/n1"


def test_host_of_a_node() -> None:
    assert IRIS.host_of(IRIS.component("n 1", "thread", "0")) == IRIS.host("n 1")
    for other in (IRIS.host("n1"), IRIS.metric("a.b"), "http://x/twin/n1/thread/0"):
        assert IRIS.host_of(other) is None
