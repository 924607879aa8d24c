"""Samples as rows: labels, and values that read back unchanged."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ontology.texts import writable
from sampler_bridge.sampling.labelled import Labeller
from sampling.account.reasons import GapReason
from sampling.sources.source import Sample, SampleColumn, Series
from tests.sampler_bridge.wire import named

NAMES = {"a.b": "a_b"}
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
INSTANCE = TEXT.map(writable)


def labelled(sample: Sample, labeller: Labeller) -> list[tuple[dict[str, str], float]]:
    """Labels and values of the rows of a sample."""
    found = labeller.of(sample)
    pairs = [
        (named(head), value)
        for row in found.rows
        for head, value in zip(row.heads, row.values.tolist(), strict=True)
        if np.isfinite(value)
    ]
    assert found.points == len(pairs)
    return pairs


def of(
    values: np.ndarray, instances: list[str | None] | None = None, host: str = "n1"
) -> list[tuple[dict[str, str], float]]:
    instances = instances or [str(at) for at in range(len(values))]
    series = [Series("a.b", instance) for instance in instances]
    return labelled(Sample((SampleColumn(series, values),), {}), Labeller(host, NAMES))


def test_series_has_the_labels_that_the_store_wants() -> None:
    sample = Sample((SampleColumn([Series("a.b", None)], np.array([7])),), {})
    found = labelled(sample, Labeller("n1", NAMES))
    assert found == [({"__name__": "a_b", "hostname": "n1"}, 7.0)]


@given(TEXT, INSTANCE)
def test_any_label_round_trips(host: str, instance: str) -> None:
    ((labels, value),) = of(np.array([1]), [instance], host)
    assert value == 1
    assert labels == {"__name__": "a_b", "hostname": host, "instname": instance}


@given(arrays(np.int64, st.integers(0, 5)) | arrays(np.uint64, st.integers(0, 5)))
def test_integers_are_the_nearest_storable_number(values: np.ndarray) -> None:
    assert [value for _, value in of(values)] == [float(n) for n in values.tolist()]


@given(arrays(np.float64, st.integers(0, 9)) | arrays(np.float32, st.integers(0, 9)))
def test_floats_read_back_in_their_own_precision(values: np.ndarray) -> None:
    finite = values[np.isfinite(values)]
    assert np.array_equal(np.array([v for _, v in of(values)], values.dtype), finite)


def test_float32_has_its_shortest_form() -> None:
    assert of(np.array([0.05], np.float32))[0][1] == 0.05


def test_values_that_are_not_numbers_are_omitted_and_counted() -> None:
    series = [Series("a.b", str(at)) for at in range(4)]
    values = np.array([1.5, np.nan, np.inf, 2.5])
    sample = Sample((SampleColumn(series, values),), {})
    found = labelled(sample, labeller := Labeller("n1", NAMES))
    assert [labels["instname"] for labels, _ in found] == ["0", "3"]
    gap = labeller.of(sample).left_out["a.b"]
    assert (gap.cause.reason, gap.points) == (GapReason.NOT_STORED, 2)


def test_heads_follow_the_series_when_they_change() -> None:
    labeller = Labeller("n1", NAMES)
    for instances in (["x"], ["x", "y"], ["z"], ["z", "x"]):
        series = [Series("a.b", instance) for instance in instances]
        sample = Sample((SampleColumn(series, np.arange(len(series))),), {})
        found = labelled(sample, labeller)
        assert [labels["instname"] for labels, _ in found] == instances


def test_heads_stay_the_same_while_the_series_do() -> None:
    labeller, series = Labeller("n1", NAMES), [Series("a.b", "x")]
    first, second = (
        labeller.of(Sample((SampleColumn(series, np.array([value])),), {}))
        .rows[0]
        .heads
        for value in (1, 2)
    )
    assert first is second


def test_text_value_becomes_a_label() -> None:
    series = (Series("a.b", None, 'a\n"b" \x00'), Series("a.b", "x", ""))
    sample = Sample((SampleColumn(series, np.ones(2, np.int8)),), {})
    found = labelled(sample, Labeller("n1", NAMES))
    name = {"__name__": "a_b", "hostname": "n1"}
    assert found == [
        ({**name, "value": 'a\n"b" \ufffd'}, 1.0),
        ({**name, "instname": "x", "value": ""}, 1.0),
    ]


def test_columns_of_all_types_become_numbers() -> None:
    kinds = (np.int64, np.uint64, np.float32, np.float64)
    columns = tuple(
        SampleColumn([Series("a.b", kind.__name__)], np.array([3], kind))
        for kind in kinds
    )
    found = labelled(Sample(columns, {}), Labeller("n1", NAMES))
    assert [value for _, value in found] == [3.0] * 4
    assert len({labels["instname"] for labels, _ in found}) == 4
