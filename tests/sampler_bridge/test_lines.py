"""Samples as text: names, labels, and values that read back as they were."""

import re
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ontology.texts import writable
from sampler_bridge.sampling.lines import Lines
from sampler_bridge.sources.source import Column, Sample, Series

NAMES = {"a.b": "a_b"}
LINE = re.compile(r'(\w+)\{((?:\w+="(?:[^"\\\n]|\\.)*",?)*)\} (\S+) (\d+)')
LABEL = re.compile(r'(\w+)="((?:[^"\\\n]|\\.)*)"')
ESCAPED = re.compile(r"\\(.)")
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
INSTANCE = TEXT.map(writable)


def unescape(text: str) -> str:
    return ESCAPED.sub(lambda m: "\n" if m[1] == "n" else m[1], text)


def parse(payload: bytes) -> list[tuple[str, dict[str, str], str, int]]:
    """Lines as name, labels, value, timestamp."""
    found = []
    for line in payload.decode().split("\n")[:-1]:
        match = LINE.fullmatch(line)
        assert match, line
        labels = {name: unescape(text) for name, text in LABEL.findall(match[2])}
        found.append((match[1], labels, match[3], int(match[4])))
    return found


def written(
    values: np.ndarray, instances: list[str | None] | None = None, host: str = "n1"
) -> list[tuple[str, dict[str, str], str, int]]:
    instances = instances or [str(at) for at in range(len(values))]
    series = [Series("a.b", instance) for instance in instances]
    text = Lines(host, NAMES).text(Sample((Column(series, values),), {}), 1234)
    assert text.points == len(parse(text.payload))
    return parse(text.payload)


def test_a_line_looks_as_the_store_wants_it() -> None:
    sample = Sample((Column([Series("a.b", None)], np.array([7])),), {})
    text = Lines("n1", NAMES).text(sample, 1_700_000_000_000)
    assert text.payload == b'a_b{hostname="n1"} 7 1700000000000\n'


@given(TEXT, INSTANCE)
def test_any_label_reads_back(host: str, instance: str) -> None:
    ((name, labels, value, stamp),) = written(np.array([1]), [instance], host)
    assert (name, value, stamp) == ("a_b", "1", 1234)
    assert labels == {"hostname": host, "instname": instance}


@given(arrays(np.int64, st.integers(0, 5)) | arrays(np.uint64, st.integers(0, 5)))
def test_integers_are_exact(values: np.ndarray) -> None:
    assert [int(value) for _, _, value, _ in written(values)] == values.tolist()


@given(arrays(np.float64, st.integers(0, 9)) | arrays(np.float32, st.integers(0, 9)))
def test_floats_read_back_in_their_own_precision(values: np.ndarray) -> None:
    finite = values[np.isfinite(values)]
    texts = [value for _, _, value, _ in written(values)]
    assert np.array_equal(np.array(texts, values.dtype), finite)


def test_a_float32_is_written_as_short_as_it_is() -> None:
    assert written(np.array([0.05], np.float32))[0][2] == "0.05"


def test_what_is_not_a_number_is_left_out_and_counted() -> None:
    series = [Series("a.b", str(at)) for at in range(4)]
    values = np.array([1.5, np.nan, np.inf, 2.5])
    text = Lines("n1", NAMES).text(Sample((Column(series, values),), {}), 1)
    assert [labels["instname"] for _, labels, _, _ in parse(text.payload)] == ["0", "3"]
    assert text.left_out["a.b"] == ("the value is not a number", 2)
    assert text.points == 2


def test_heads_follow_the_series_when_they_change() -> None:
    lines = Lines("n1", NAMES)
    for instances in (["x"], ["x", "y"], ["z"]):
        series = [Series("a.b", instance) for instance in instances]
        sample = Sample((Column(series, np.arange(len(series))),), {})
        found = parse(lines.text(sample, 1).payload)
        assert [labels["instname"] for _, labels, _, _ in found] == instances


def test_a_text_is_a_label() -> None:
    series = (Series("a.b", None, 'a\n"b" \x00'), Series("a.b", "x", ""))
    sample = Sample((Column(series, np.ones(2, np.int8)),), {})
    found = parse(Lines("n1", NAMES).text(sample, 1).payload)
    assert [labels for _, labels, _, _ in found] == [
        {"hostname": "n1", "value": 'a\n"b" \ufffd'},
        {"hostname": "n1", "instname": "x", "value": ""},
    ]
    assert [value for _, _, value, _ in found] == ["1", "1"]


def test_columns_of_all_kinds_make_one_text() -> None:
    kinds = (np.int64, np.uint64, np.float32, np.float64)
    columns = tuple(
        Column([Series("a.b", kind.__name__)], np.array([3], kind)) for kind in kinds
    )
    found = parse(Lines("n1", NAMES).text(Sample(columns, {}), 1).payload)
    assert [float(value) for _, _, value, _ in found] == [3.0] * 4
    assert all(a[1] != b[1] for a, b in pairwise(found))
