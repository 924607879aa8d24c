"""What the store receives: each value of each series once, at its tick."""

import gc
import time
import tracemalloc
from itertools import pairwise
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sampler_bridge.log.batch import START
from sampler_bridge.log.log import Log
from sampler_bridge.log.rows import LogRows
from sampler_bridge.sending.remote_write import RequestWriter, cut, labels
from sampler_bridge.sending.store import StoreConnection
from tests.sampler_bridge.test_log import folder
from tests.sampler_bridge.wire import points
from tests.sampler_bridge.wire import request as request_of
from tests.servers import VictoriaMetrics

T0 = 1_700_000_000_000
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
# The series differ from tick to tick: they come, go and come back.
TICKS = st.lists(st.dictionaries(st.sampled_from("abcdefg"), NUMBERS, min_size=1))


def append(log: Log, tick_ms: int, values: dict[str, float]) -> None:
    heads = [labels({"__name__": name, "hostname": "n1"}) for name in values]
    log.append(tick_ms, [LogRows(heads, np.array(list(values.values())))])


@given(TICKS, st.integers(1, 2000))
def test_every_point_is_stored_once_with_labels_and_time(
    ticks: list[dict[str, float]], at_once: int
) -> None:
    with folder() as path:
        log, requests, found = Log(path, 10**6, segment_bytes=999), RequestWriter(), []
        for at, values in enumerate(ticks):
            append(log, T0 + at, values)
        position = START
        while log.has_more(position):
            batch = log.read(position, at_once)
            found += points(requests.of(batch))
            position = batch.end
        log.close()
    sent = sorted((ms, labels["__name__"], value) for labels, value, ms in found)
    assert {labels["hostname"] for labels, _, _ in found} <= {"n1"}
    assert sent == sorted(
        (T0 + at, name, value)
        for at, values in enumerate(ticks)
        for name, value in values.items()
    )


def test_series_is_sent_once_for_all_its_ticks(tmp_path: Path) -> None:
    log = Log(tmp_path, 10**6)
    for at in range(100):
        append(log, T0 + at, {"long_name_of_a_series": at})
    request = RequestWriter().of(log.read(START, 10**6))
    log.close()
    assert request.count(b"long_name_of_a_series") == 1
    assert len(points(request)) == 100


@given(st.lists(st.integers(1, 300)), st.integers(1, 2000))
def test_request_is_cut_between_its_series(lengths: list[int], most: int) -> None:
    series = [request_of("a" * length, length, T0) for length in lengths]
    parts = list(cut(b"".join(series), most))
    assert b"".join(parts) == b"".join(series)
    assert all(len(part) <= most or part in series for part in parts)
    found = [len(point.labels["__name__"]) for part in parts for point in points(part)]
    assert found == lengths
    assert all(len(a + b) > most for a, b in pairwise(parts))


def test_store_understands_every_label_and_value(
    tmp_path: Path, store: VictoriaMetrics
) -> None:
    texts = ["x", 'a "b" \\ {c="d"}', "two\nlines", "ü € 𝄞", "0" * 300]
    numbers = [0.0, -0.05, 1.25e-9, 2.0**53, -(2.0**63)]
    log, heads = Log(tmp_path, 10**6), []
    for text in texts:
        heads.append(labels({"__name__": "a", "hostname": "n1", "instname": text}))
    now_ms = time.time_ns() // 1_000_000
    log.append(now_ms, [LogRows(heads, np.array(numbers))])
    client = StoreConnection(store.url)
    assert client.write(RequestWriter().of(log.read(START, 10**6))) is None
    client.close()
    log.close()
    assert store.values("a") == {
        f"a{{{text}}}": {now_ms: number}
        for text, number in zip(texts, numbers, strict=True)
    }


def test_sent_records_are_removed(store: VictoriaMetrics) -> None:
    """The client keeps its requests until garbage collection, but not their bodies."""
    request = request_of("a", 1.0, time.time_ns() // 1_000_000) * 100_000
    client = StoreConnection(store.url)
    client.write(request)
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        for _ in range(3):
            assert client.write(request) is None
        assert tracemalloc.get_traced_memory()[0] < len(request) / 2
    finally:
        tracemalloc.stop()
        gc.enable()
    client.show()
    client.close()
    assert len(set(store.peek("a"))) == 1
