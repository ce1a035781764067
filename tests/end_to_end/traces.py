# SPDX-License-Identifier: Apache-2.0
"""Reads traces by Perfetto's own description of their format."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as perfetto_format


def read_trace(trace: bytes) -> tuple[set[Any], set[Any], set[Any]]:
    """Spans and counters by their tracks' names, and arrows from a span to the place and time of their end, as a reader
    of the format sees them."""
    found = perfetto_format.Trace()
    found.ParseFromString(trace)
    names: dict[int, str] = {}
    parents: dict[int, int] = {}
    spans, counters, flows = set(), set(), defaultdict(list)
    stacks: dict[int, list[Any]] = defaultdict(list)
    events = []
    for packet in found.packet:
        assert packet.trusted_packet_sequence_id == 1
        if packet.HasField("track_descriptor"):
            described = packet.track_descriptor
            assert described.uuid not in names
            names[described.uuid], parents[described.uuid] = described.name, described.parent_uuid
        else:
            events.append((packet.timestamp, packet.track_event))
    for at, event in sorted(events, key=lambda event: event[0]):  # in a stable order, as readers do
        group, name = names[parents[event.track_uuid]], names[event.track_uuid]
        if event.type == event.TYPE_SLICE_BEGIN:
            about = {a.name: a.string_value or a.double_value or a.int_value for a in event.debug_annotations}
            stacks[event.track_uuid].append((at, event.name, about))
            flows.update({flow: [(name, event.name)] for flow in event.flow_ids})
        elif event.type == event.TYPE_SLICE_END:
            begin, what, about = stacks[event.track_uuid].pop()
            assert not stacks[event.track_uuid], "spans on one track do not overlap"
            spans.add((group, name, what, begin, at, json.dumps(about)))
        elif event.type == event.TYPE_COUNTER:
            counters.add((name, at, event.double_counter_value))
        else:
            for flow in event.terminating_flow_ids:
                flows[flow].append((name, at))
    assert not any(stacks.values())
    return spans, counters, {tuple(ends) for ends in flows.values()}
