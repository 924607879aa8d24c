"""Packets are those that Perfetto's own messages describe."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as perfetto

from observations.timeline.packets import Track, begin, counts, end, start, track
from tests.observations.timeline.traces import REALTIME, read_trace

NS = 1_793_523_600_123_456_789
TIMES = st.integers(min_value=1 << 56, max_value=(1 << 63) - 1)
NUMBERS = st.integers(min_value=1, max_value=(1 << 64) - 1)


def packets_of(content: bytes) -> list[perfetto.TracePacket]:
    trace = perfetto.Trace.FromString(content)
    assert trace.SerializeToString() == trace.FromString(content).SerializeToString()
    return list(trace.packet)


def test_trace_has_the_wall_clock() -> None:
    (packet,) = packets_of(start(NS))
    (clock,) = packet.clock_snapshot.clocks
    assert (clock.clock_id, clock.timestamp) == (REALTIME, NS)
    assert packet.sequence_flags == packet.SEQ_INCREMENTAL_STATE_CLEARED


@given(NUMBERS, NUMBERS, st.text(), st.none() | st.text())
def test_tracks_are_described(
    uuid: int, parent: int, name: str, unit: str | None
) -> None:
    (packet,) = packets_of(track(Track(uuid, name, parent, unit, 7)))
    found = packet.track_descriptor
    text = name.encode(errors="replace").decode()
    assert (found.uuid, found.parent_uuid, found.name) == (uuid, parent, text)
    assert found.sibling_order_rank == 7
    assert found.HasField("counter") == (unit is not None)
    assert found.counter.unit_name == (unit or "").encode(errors="replace").decode()


@given(NUMBERS, TIMES, st.text(), st.dictionaries(st.text(), st.text()))
def test_slices_begin_and_end(
    uuid: int, ns: int, name: str, facts: dict[str, str]
) -> None:
    first, last = packets_of(begin(uuid, ns, name, facts) + end(uuid, ns))
    assert (first.timestamp, last.timestamp) == (ns, ns)
    assert first.track_event.track_uuid == last.track_event.track_uuid == uuid
    assert first.track_event.type == perfetto.TrackEvent.TYPE_SLICE_BEGIN
    assert last.track_event.type == perfetto.TrackEvent.TYPE_SLICE_END
    assert len(first.track_event.debug_annotations) == len(facts)


@given(
    NUMBERS,
    st.lists(
        st.tuples(
            st.integers(1 << 37, (1 << 63) // 10**6 - 1), st.floats(allow_nan=False)
        )
    ),
)
def test_values_of_counters_are_exact(
    uuid: int, points: list[tuple[int, float]]
) -> None:
    stamps = np.array([stamp for stamp, _ in points], np.int64)
    values = np.array([value for _, value in points], np.float64)
    found = packets_of(counts(uuid, stamps, values))
    read = [(one.timestamp, one.track_event.double_counter_value) for one in found]
    assert read == [(stamp * 10**6, value) for stamp, value in points]
    assert all(one.timestamp_clock_id == REALTIME for one in found)
    assert {one.track_event.track_uuid for one in found} <= {uuid}


def test_slice_without_an_end_is_noticed() -> None:
    parts = [start(NS), track(Track(1, "a")), begin(1, NS, "x")]
    with pytest.raises(AssertionError):
        read_trace(parts)
    read_trace([*parts, end(1, NS)])
