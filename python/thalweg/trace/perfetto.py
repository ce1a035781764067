# SPDX-License-Identifier: Apache-2.0
"""Export of a timeline as a Perfetto trace (https://ui.perfetto.dev): TrackEvents of protos/perfetto/trace.

The protobuf wire format is written directly. Tests decode it with Perfetto's own description of the format.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterator
from typing import BinaryIO

from thalweg.trace.timeline import Message, Timeline, Track, in_lanes

_BEGIN, _END, _INSTANT, _COUNTER = 1, 2, 3, 4  # TrackEvent.Type
_SEQUENCE = 1
_STATE_CLEARED = 1  # TracePacket.SequenceFlags
_EXPLICIT = 3  # TrackDescriptor.ChildTracksOrdering


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _fixed(field: int, value: int) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<Q", value)


def _double(field: int, value: float) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<d", value)


def _bytes(field: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def write(timeline: Timeline, file: BinaryIO) -> None:
    """Writes the trace; times are in nanoseconds."""
    for packet in _packets(timeline):
        file.write(_bytes(1, packet))  # Trace.packet


def _ns(us: float) -> int:
    return round(us * 1000)


def _packets(timeline: Timeline) -> Iterator[bytes]:
    uuids = iter(range(1, 1 << 62))
    groups: dict[str, int] = {}

    def described(name: str, parent: int = 0, rank: int = 0, more: bytes = b"") -> tuple[int, bytes]:
        uuid = next(uuids)
        text = _number(1, uuid) + _bytes(2, name) + (_number(5, parent) if parent else b"") + _number(12, rank) + more
        return uuid, _packet(_bytes(60, text))

    first = True
    for group in dict.fromkeys([*(t.group for t in timeline.tracks), *(c.group for c in timeline.counters)]):
        groups[group], packet = described(group, rank=len(groups), more=_number(11, _EXPLICIT))
        yield packet + (_number(13, _STATE_CLEARED) if first else b"")
        first = False

    flows = {id(message): number for number, message in enumerate(timeline.messages, start=1)}
    sent: dict[Track, list[Message]] = defaultdict(list)
    received: dict[Track, list[Message]] = defaultdict(list)
    for message in timeline.messages:
        sent[message.sender].append(message)
        received[message.receiver].append(message)

    for rank, track in enumerate(timeline.tracks):
        parent = groups[track.group]
        for number, lane in enumerate(in_lanes(track.spans) or [[]]):
            uuid, packet = described(track.name, parent, rank)
            yield packet
            for span in lane:
                yield _event(uuid, _ns(span.begin), _BEGIN, span.name, _about(span.about))
                yield _event(uuid, _ns(span.end), _END)
            for message in received[track] if number == 0 else ():
                flow = _fixed(48, flows[id(message)])
                yield _event(uuid, _ns(message.end), _INSTANT, f"from {message.sender.name}", flow)
        # an arrow starts at the message's own span and ends where the message arrives
        for way in in_lanes(sent[track]):
            uuid, packet = described(f"{track.name}: messages", parent, rank)
            yield packet
            for message in way:
                flow = _fixed(47, flows[id(message)])
                yield _event(uuid, _ns(message.begin), _BEGIN, message.name, _about(message.about) + flow)
                yield _event(uuid, _ns(message.end), _END)
    for rank, counter in enumerate(timeline.counters):
        more = _bytes(8, _bytes(6, counter.unit))
        uuid, packet = described(counter.name, groups[counter.group], rank, more)
        yield packet
        for at, value in counter.changes():
            yield _event(uuid, _ns(at), _COUNTER, more=_double(44, value))


def _packet(content: bytes) -> bytes:
    return content + _number(10, _SEQUENCE)


def _event(track: int, ns: int, kind: int, name: str = "", more: bytes = b"") -> bytes:
    event = _number(9, kind) + _number(11, track) + (_bytes(23, name) if name else b"") + more
    return _packet(_number(8, ns) + _bytes(11, event))


def _about(about: dict[str, object]) -> bytes:
    """Debug annotations."""
    found = b""
    for name, value in about.items():
        if isinstance(value, int):
            typed = _number(4, value & (1 << 64) - 1)
        elif isinstance(value, float):
            typed = _double(5, value)
        else:
            typed = _bytes(6, str(value))
        found += _bytes(4, _bytes(10, name) + typed)
    return found
