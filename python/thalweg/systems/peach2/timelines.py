# SPDX-License-Identifier: Apache-2.0
"""Timelines of hubs: operations of the nodes' processors, and traffic on the cables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from thalweg.trace import Recorded, Span, Timeline
from thalweg.trace.recorded import with_links

if TYPE_CHECKING:
    from thalweg.systems.peach2.hubs import Hubs
    from thalweg.systems.peach2.running import RecordedOperation


_MEMORIES = ("the processor", "GPU 0", "GPU 1", "the hub")


def _place(address: int) -> str:
    """Describes a global address: 32 GByte per node, 8 GByte per memory."""
    return f"{_MEMORIES[(address >> 33) % 4]} of node {address >> 35}"


def about(name: str, arguments: Sequence[Any]) -> dict[str, object]:
    """Returns details of an operation for the timeline, from the arguments of its call."""
    match name, arguments:
        case "store", (to, data):
            return {"bytes": len(data), "to": _place(to)}
        case "wait_for", (at, value):
            return {"at": at, "value": value}
        case "copy", (to, _, source, _, count):
            return {"bytes": count, "from": _MEMORIES[source], "to": _MEMORIES[to]}
        case "get", (to, source, count):
            return {"bytes": count, "from": _place(source), "to": _place(to)}
        case "chain", (copies, *_):
            return {
                "bytes": sum(count for _, _, count in copies),
                "to": ", ".join({_place(to): 0 for to, *_ in copies}),
            }
        case "kernel", (_, reads):
            return {"bytes": sum(count for _, count in reads)}
        case "flush", (gpu,):
            return {"gpu": gpu}
        case "reduce", (_, sources, *_):
            return {"bytes": sum(count for _, count in sources)}
    return {}


def of_hubs(hubs: Hubs, kept: Sequence[RecordedOperation], title: str) -> Recorded:
    """Returns the timeline; operations without an end extend to the last known time."""
    timeline = Timeline(title)
    spans = [(one, one.operation.span_us) for one in kept]
    last = max((time for _, span in spans if span for time in span if time < math.inf), default=0.0)
    for node in hubs.nodes:
        track = timeline.track("processors", f"node {node.number}")
        for one, span in spans:
            if span and one.node == node.number:
                ended = "" if span[1] < math.inf else ", not ended"
                about = {**one.about, **({"error": one.operation.error} if one.operation.error else {})}
                track.spans.append(Span(span[0], min(span[1], max(last, span[0])), one.name + ended, about))
    ticks_per_us = hubs._sim.ticks_per_second / 1e6
    begin_us = hubs._sim.start / ticks_per_us
    return with_links(timeline, hubs.cluster, hubs._sim.link_use(), ticks_per_us, None, "words", begin_us)
