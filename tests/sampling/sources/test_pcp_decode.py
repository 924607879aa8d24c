"""Decoding gives the same values as PCP's own pmExtractValue."""

import ctypes
import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from pcp import pmapi as pcp

from core.linux import pmapi
from sampling.sources import pcp_decode
from sampling.sources.pcp_decode import decode, view_of
from sampling.sources.pcp_layout import (
    KINDS,
    ColumnLayout,
    FetchedMetric,
    InstanceNames,
)
from tests.servers import Pmcd

_HIGH = 2**47 + 2**46


@pytest.fixture
def context(pmcd: Pmcd) -> Iterator[pmapi.Context]:
    context = pmapi.Context(pmcd.address)
    yield context
    context.close()


def described(context: pmapi.Context, names: list[str]) -> list[FetchedMetric]:
    found = []
    for name in names:
        try:
            desc = context.describe(name)
        except pmapi.PmError:
            continue
        if desc.type in KINDS:
            found.append(FetchedMetric(name, desc))
    return sorted(found, key=lambda metric: metric.desc.type)


def extracted(
    address: int, metrics: list[FetchedMetric]
) -> Iterator[tuple[str, int, object]]:
    """Metric, instance and value by pmExtractValue, one at a time."""
    result = pcp.pmResult.from_address(address)
    for at, metric in enumerate(metrics):
        for number in range(max(result.get_numval(at), 0)):
            value, kind = result.get_vlist(at, number), metric.desc.type
            atom = pcp.pmContext.pmExtractValue(
                result.get_valfmt(at), value, kind, kind
            )
            yield metric.name, value.inst, atom.dref(kind)


def test_decoded_values_match_pm_extract_value(
    pmcd: Pmcd, context: pmapi.Context
) -> None:
    metrics = described(context, pmcd.names())
    names = InstanceNames(context.instances)
    layout = ColumnLayout(metrics, names, {})
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
    # The agent invents some instances, and processes may end after the fetch.
    for metric, instance, _ in expected:
        if external(names, indoms[metric], instance) == "?":
            made_up = metric.startswith("sample.")
            assert made_up or instance not in context.instances(indoms[metric])
    np.testing.assert_equal(ours, named)
    assert {metric.desc.type for metric in metrics} == set(KINDS)
    assert len(ours) > 1000
    assert any(value < 0 for *_, value in ours)
    assert any(value > 2**53 for *_, value in ours)


def test_few_decoded_values_match_pm_extract_value(
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


def test_unknown_name_and_missing_pmcd_are_reported(context: pmapi.Context) -> None:
    with pytest.raises(pmapi.PmError, match="Unknown metric name"):
        context.describe("no.such.metric")
    with pytest.raises(pmapi.PmError, match="No such file"):
        pmapi.Context("unix:///nowhere/pmcd.socket")


@dataclass
class HighMemory:
    """Memory whose addresses lie above 2^47.

    arm64 has it, and x86-64 with five-level paging: ``shift`` is then 0. Elsewhere the
    memory of an address lies ``shift`` bytes below it.
    """

    first: int
    shift: int

    def write(self, data: bytes) -> None:
        """Write data at the beginning of the memory."""
        ctypes.memmove(self.first - self.shift, data, len(data))


def mapped(hint: int, size: int) -> int:
    """The address of new memory: the hint, if the kernel can."""
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 4]
    how = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    found = libc.mmap(hint, size, mmap.PROT_READ | mmap.PROT_WRITE, how, -1, 0)
    assert found != 2**64 - 1
    return int(found)


@pytest.fixture(scope="module")
def place() -> int:
    """Reserve 64 KiB at the highest address possible, for the life of the process."""
    return mapped(_HIGH, 2**16)


@pytest.fixture
def high_memory(place: int, monkeypatch: pytest.MonkeyPatch) -> HighMemory:
    shift = max(_HIGH - place, 0)
    if shift:
        # Only this is simulated: the final memory reads.
        below, text = pcp_decode._Memory, pcp_decode.string_at
        monkeypatch.setattr(pcp_decode, "_Memory", lambda a, n: below(a - shift, n))
        monkeypatch.setattr(pcp_decode, "string_at", lambda a, n: text(a - shift, n))
    return HighMemory(place + shift, shift)


def laid_out(first: int, values: list[tuple[int, bool]]) -> bytes:
    """A pmResult at an address, with one value for each metric, wide or not.

    Every second narrow value is stored in place, all others in blocks.
    """
    sets = first + 24 + 8 * len(values)
    blocks = sets + 32 * len(values)
    head = bytes(24) + b"".join(
        struct.pack("<Q", sets + 32 * n) for n in range(len(values))
    )
    body = kept = b""
    for n, (value, wide) in enumerate(values):
        in_place = not wide and n % 2 == 0
        body += struct.pack("<IiiI", n, 1, 0 if in_place else 1, 0)
        body += struct.pack("<iIQ", n, 0, value if in_place else blocks + len(kept))
        kept += struct.pack("<IQ", 12, value)
    return head + body + kept


@pytest.mark.parametrize("metrics", [3, 64, 65, 400])
def test_pointers_above_2_to_47_are_followed(
    high_memory: HighMemory, metrics: int
) -> None:
    """Both few values, decoded one by one, and many at once; see HighMemory."""
    values = [
        (2**63 + n, True) if n % 3 == 0 else (2**31 + n, False) for n in range(metrics)
    ]
    high_memory.write(laid_out(high_memory.first, values))
    raw = decode(high_memory.first, np.array([wide for _, wide in values]))
    assert high_memory.first >= 2**47
    assert raw.counts.tolist() == [1] * metrics
    assert raw.instances.tolist() == list(range(metrics))
    assert raw.bits.tolist() == [value for value, _ in values]


@pytest.mark.parametrize("first", [4096, 2**47 + 16, 2**48 - 4096, 2**56 + 2**52])
def test_view_reaches_addresses_of_any_height(first: int) -> None:
    addresses = np.array([first + 8, first, first + 4096], np.int64)
    view, places = view_of(addresses)
    assert view.__array_interface__["data"][0] == first
    assert places.tolist() == [2, 0, 1024]
    assert len(view) == 1025
