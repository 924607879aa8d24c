"""Reads traces with Perfetto's own messages, and checks what its importer requires."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as perfetto

REALTIME = perfetto.BUILTIN_CLOCK_REALTIME
_BEGIN = perfetto.TrackEvent.TYPE_SLICE_BEGIN
_END = perfetto.TrackEvent.TYPE_SLICE_END
_COUNTER = perfetto.TrackEvent.TYPE_COUNTER


class ReadSlice(NamedTuple):
    """A slice of a track, with the names of the slices around it."""

    path: str
    begin: int
    end: int
    facts: dict[str, str]


class ReadTrace(NamedTuple):
    """Slices and values by track; a track is named with those around it."""

    slices: dict[str, list[ReadSlice]]
    values: dict[str, list[tuple[int, float]]]
    units: dict[str, str]
    starts: list[int]


def read_trace(parts: Iterable[bytes]) -> ReadTrace:
    """Read a trace; raises AssertionError if an importer would drop a part of it."""
    content = b"".join(parts)
    trace = perfetto.Trace.FromString(content)
    # Nothing that is unknown to Perfetto, and no field twice.
    assert trace.ByteSize() == len(content)
    assert all(packet.trusted_packet_sequence_id for packet in trace.packet)
    first, *others = trace.packet
    assert first.clock_snapshot.primary_trace_clock == REALTIME
    found = ReadTrace({}, {}, {}, [c.timestamp for c in first.clock_snapshot.clocks])
    names: dict[int, str] = {}
    events: dict[int, list[Any]] = {}
    for packet in others:
        if packet.HasField("track_descriptor"):
            one = packet.track_descriptor
            assert one.uuid
            assert one.uuid not in names
            parent = f"{names[one.parent_uuid]} / " if one.parent_uuid else ""
            names[one.uuid] = f"{parent}{one.name}"
            if one.HasField("counter"):
                found.units[names[one.uuid]] = one.counter.unit_name
        else:
            assert packet.timestamp_clock_id == REALTIME
            # A track must be described before it is used.
            assert packet.track_event.track_uuid in names
            events.setdefault(packet.track_event.track_uuid, []).append(packet)
    for uuid, packets in events.items():
        # The importer sorts by time, and keeps the order of events at one time.
        packets.sort(key=lambda packet: packet.timestamp)
        _add(found, names[uuid], packets)
    return found


def _add(found: ReadTrace, name: str, packets: list[Any]) -> None:
    open_: list[ReadSlice] = []
    for packet in packets:
        event = packet.track_event
        if event.type == _COUNTER:
            assert name in found.units
            point = packet.timestamp, event.double_counter_value
            found.values.setdefault(name, []).append(point)
        elif event.type == _BEGIN:
            around = f"{open_[-1].path} / " if open_ else ""
            facts = {one.name: one.string_value for one in event.debug_annotations}
            path = f"{around}{event.name}"
            open_.append(ReadSlice(path, packet.timestamp, 0, facts))
        else:
            assert event.type == _END
            ended = open_.pop()._replace(end=packet.timestamp)
            found.slices.setdefault(name, []).append(ended)
    assert not open_
