"""Texts as series of the value 1 with a label each, and too many texts."""

import time
from collections.abc import Callable

import numpy as np
import pytest

from core.linux import pmapi
from sampling.sources.pcp_decode import MOST_BYTES, RawTexts, decode_texts
from sampling.sources.pcp_layout import FetchedMetric, InstanceNames
from sampling.sources.pcp_source import PcpSource
from sampling.sources.pcp_texts import (
    MOST_TEXTS,
    TOO_MANY,
    SeenTexts,
    Texts,
    printable_text,
)
from sampling.sources.source import Gap, Sample, Series
from tests.sampler_bridge.servers import BridgeProcess, closes
from tests.servers import Pmcd, VictoriaMetrics

WRITTEN = "sample.string.write_me"


def texts(sample: Sample) -> dict[str | None, str | None]:
    """Texts by instance."""
    columns = [column for column in sample.columns if column.values.dtype == np.int8]
    for column in columns:
        assert set(column.values.tolist()) == {1}
    return {series.instance: series.text for one in columns for series in one.series}


def test_instances_have_texts_next_to_numbers(source: PcpSource) -> None:
    source.select(["sample.string.bin", "sample.bin", "sample.float.one"])
    sample = source.fetch()
    assert texts(sample) == {f"bin-{n}": str(n) for n in range(100, 1000, 100)}
    assert sample.points == sample.expected == 9 + 9 + 1
    again = source.fetch()
    assert again.columns[-1] is sample.columns[-1]


@pytest.mark.parametrize("text", ["", "a", "abcd", "abcde", "ü €", "a" * MOST_BYTES])
def test_text_of_pcp_is_kept(pmcd: Pmcd, source: PcpSource, text: str) -> None:
    source.select([WRITTEN])
    pmcd.store(WRITTEN, text)
    assert texts(source.fetch()) == {None: text}


def test_long_text_is_cut_and_marked(pmcd: Pmcd, source: PcpSource) -> None:
    source.select([WRITTEN])
    pmcd.store(WRITTEN, "ü" * MOST_BYTES)
    text = texts(source.fetch())[None]
    assert text == "ü" * ((MOST_BYTES - 3) // 2) + "…"
    assert len(text.encode()) <= MOST_BYTES


def test_bytes_that_are_not_text_stay_visible() -> None:
    assert printable_text(b"a\xffb\0rest") == r"a\xffb"
    assert printable_text(b"\x80" * 300).endswith("…")


def test_frequently_changing_text_is_a_gap_until_the_next_hour() -> None:
    now = [7200.0]
    of = Texts([metric()], InstanceNames(lambda _: {}), {}, SeenTexts(lambda: now[0]))

    def decode_text(text: str) -> tuple[dict[str | None, str | None], dict[str, Gap]]:
        columns = of.columns(raw(text))
        return texts(Sample(columns, {})), dict(of.gaps)

    for number in range(MOST_TEXTS):
        assert decode_text(f"{number}") == ({None: str(number)}, {})
    assert decode_text("new") == ({}, {"a.b": Gap(TOO_MANY, 1)})
    assert decode_text("0") == ({None: "0"}, {})
    assert decode_text("new") == ({}, {"a.b": Gap(TOO_MANY, 1)})
    now[0] += 3600
    assert decode_text("new") == ({None: "new"}, {})


def metric() -> FetchedMetric:
    desc = pmapi.MetricDescriptor(1, pmapi.TYPE_STRING, pmapi.NO_INDOM)
    return FetchedMetric("a.b", desc)


def raw(text: str) -> RawTexts:
    """A fetch of one text."""
    kept = text.encode() + b"\0"
    padded = np.frombuffer(kept + bytes(-len(kept) % 4), np.uint32)
    one = np.array([1], np.int32)
    return RawTexts(one, -one, np.array([len(kept)]), padded)


def test_number_in_place_of_a_text_is_an_error_of_pcp(pmcd: Pmcd) -> None:
    with pmapi.Context(pmcd.address) as context:
        ids = [
            context.describe(f"sample.{name}.one").pmid for name in ("long", "float")
        ]
        result = context.fetch(pmapi.pmid_array(ids))
        found = decode_texts(result.address, 0, 1)
    assert len(found.words) == len(found.instances) == 0
    assert "conversion" in pmapi.error_text(int(found.counts[0]))


def test_names_of_returning_instances_are_requested_again() -> None:
    """A process number is given to another process sooner or later."""
    named = {1: "1 sh", 2: "2 make"}
    names = InstanceNames(lambda _: dict(named))
    both = [
        FetchedMetric(name, pmapi.MetricDescriptor(1, pmapi.TYPE_U32, 9))
        for name in ("a", "b")
    ]

    def seen(*numbers: int) -> list[Series | None]:
        names.fetched_at = time.monotonic()
        return [s for one in both for s in names.series(one, list(numbers))]

    assert seen(1, 2)[0] == Series("a", "1 sh")
    seen(1)
    named[2] = "2 gcc"
    assert seen(1, 2)[1::2] == [Series("a", "2 gcc"), Series("b", "2 gcc")]
    del named[2]
    seen(1)
    assert seen(1, 2)[1::2] == [None, None]


def test_names_requested_after_a_fetch_are_newer_than_its_values() -> None:
    """Samples that wait to be read do not each request the names again."""
    asked: list[int] = []
    names = InstanceNames(lambda indom: asked.append(indom) or {1: "1 sh", 2: "2 cc"})
    metric = FetchedMetric("a", pmapi.MetricDescriptor(1, pmapi.TYPE_U32, 9))
    waiting = [(time.monotonic(), instances) for instances in ([1], [1, 2], [1, 3])]
    for names.fetched_at, instances in waiting:
        names.series(metric, instances)
    assert asked == [9]
    names.fetched_at = time.monotonic()
    assert names.series(metric, [1, 2, 3])[2] is None
    assert asked == [9, 9]


def test_changed_text_ends_a_series_and_starts_another(
    own_pmcd: Pmcd, store: VictoriaMetrics, new_bridge: Callable[..., BridgeProcess]
) -> None:
    own_pmcd.store(WRITTEN, "first")
    bridge = new_bridge(own_pmcd.address, store.url)
    bridge.sample([WRITTEN, "kernel.uname.release"], 0.1)
    bridge.wait_for(lambda status: status["written"] > 10)
    own_pmcd.store(WRITTEN, 'the "second"\n')
    written = bridge.status()["written"]
    bridge.wait_for(lambda status: status["written"] > written + 20)
    assert bridge.end() == 0
    assert closes(bridge.status())
    name = WRITTEN.replace(".", "_")
    # This unpacking fails if a tick is in both series.
    (ticks,) = store.values(name).values()
    first = store.values(f'{name}{{value="first"}}')[name]
    second = store.values(f'{name}{{value="the \\"second\\"\\n"}}')[name]
    assert first.keys() | second.keys() == ticks.keys()
    assert max(first) < min(second)
    assert set(ticks.values()) == {1}
