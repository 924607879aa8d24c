"""Decoding gives what PCP's own pmExtractValue gives, value by value."""

from collections.abc import Iterator

import numpy as np
import pytest
from pcp import pmapi as pcp

from core.linux import pmapi
from sampling.sources.pcp_decode import decode, view_of
from sampling.sources.pcp_layout import KINDS, Chosen, InstanceNames, Layout
from tests.servers import Pmcd


@pytest.fixture
def context(pmcd: Pmcd) -> Iterator[pmapi.Context]:
    context = pmapi.Context(pmcd.address)
    yield context
    context.close()


def described(context: pmapi.Context, names: list[str]) -> list[Chosen]:
    found = []
    for name in names:
        try:
            desc = context.describe(name)
        except pmapi.PmError:
            continue
        if desc.type in KINDS:
            found.append(Chosen(name, desc))
    return sorted(found, key=lambda metric: metric.desc.type)


def extracted(address: int, metrics: list[Chosen]) -> Iterator[tuple[str, int, object]]:
    """Metric, instance and value by pmExtractValue, one at a time."""
    result = pcp.pmResult.from_address(address)
    for at, metric in enumerate(metrics):
        for number in range(max(result.get_numval(at), 0)):
            value, kind = result.get_vlist(at, number), metric.desc.type
            atom = pcp.pmContext.pmExtractValue(
                result.get_valfmt(at), value, kind, kind
            )
            yield metric.name, value.inst, atom.dref(kind)


def test_every_value_is_that_of_pm_extract_value(
    pmcd: Pmcd, context: pmapi.Context
) -> None:
    metrics = described(context, pmcd.names())
    names = InstanceNames(context.instances)
    layout = Layout(metrics, names, {})
    wide = np.array([KINDS[metric.desc.type].wide for metric in metrics])
    result = context.fetch(pmapi.pmid_array([m.desc.pmid for m in metrics]))
    columns = layout.columns(decode(result.address, wide))
    expected = list(extracted(result.address, metrics))
    indoms = {metric.name: metric.desc.indom for metric in metrics}
    ours = [
        (series.metric, series.instance, value)
        for column in columns
        for series, value in zip(column.series, column.values.tolist(), strict=True)
    ]
    theirs = [
        (metric, external(names, indoms[metric], instance), value)
        for metric, instance, value in expected
    ]
    named = [row for row in theirs if row[1] != "?"]
    # What the agent makes up, or what ended since the fetch, as processes do.
    for metric, instance, _ in expected:
        if external(names, indoms[metric], instance) == "?":
            made_up = metric.startswith("sample.")
            assert made_up or instance not in context.instances(indoms[metric])
    np.testing.assert_equal(ours, named)
    assert {metric.desc.type for metric in metrics} == set(KINDS)
    assert len(ours) > 1000
    assert any(value < 0 for *_, value in ours)
    assert any(value > 2**53 for *_, value in ours)


def test_few_values_are_those_of_pm_extract_value_too(
    pmcd: Pmcd, context: pmapi.Context
) -> None:
    given = 0
    for metric in described(context, pmcd.names()):
        result = context.fetch(pmapi.pmid_array([metric.desc.pmid]))
        kind = KINDS[metric.desc.type]
        raw = decode(result.address, np.array([kind.wide]))
        expected = list(extracted(result.address, [metric]))
        bits = raw.bits if kind.wide else raw.bits.astype(np.uint32)
        values = bits.view(kind.read).tolist()
        ours = list(zip(raw.instances.tolist(), values, strict=True))
        np.testing.assert_equal(ours, [row[1:] for row in expected])
        assert len(expected) == max(int(raw.counts[0]), 0)
        given += 0 < len(expected) <= 64
    assert given > 100


def external(names: InstanceNames, indom: int, instance: int) -> str | None:
    if indom == pmapi.NO_INDOM:
        return None
    return names.of(indom, set()).get(instance, "?")


def test_errors_are_negative_counts_with_pcps_own_words(
    context: pmapi.Context,
) -> None:
    desc = context.describe("swap.in")
    result = context.fetch(pmapi.pmid_array([desc.pmid]))
    raw = decode(result.address, np.array([False]))
    assert raw.counts[0] < 0
    assert "not supported" in pmapi.error_text(int(raw.counts[0]))
    assert len(raw.bits) == 0


def test_an_unknown_name_and_an_absent_pmcd_say_so(context: pmapi.Context) -> None:
    with pytest.raises(pmapi.PmError, match="Unknown metric name"):
        context.describe("no.such.metric")
    with pytest.raises(pmapi.PmError, match="No such file"):
        pmapi.Context("unix:///nowhere/pmcd.socket")


@pytest.mark.parametrize("first", [4096, 2**47 + 16, 2**48 - 4096, 2**56 + 2**52])
def test_view_reaches_addresses_of_any_height(first: int) -> None:
    addresses = np.array([first + 8, first, first + 4096], np.int64)
    view, places = view_of(addresses)
    assert view.__array_interface__["data"][0] == first
    assert places.tolist() == [2, 0, 1024]
    assert len(view) == 1025
