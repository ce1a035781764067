# SPDX-License-Identifier: Apache-2.0
"""What happened when on hubs: operations of the nodes' processors, and words on the cables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from thalweg.trace import Recorded, Span, Timeline
from thalweg.trace.recorded import with_links

if TYPE_CHECKING:
    from thalweg.systems.peach2.hubs import Hubs, Kept


def of_hubs(hubs: Hubs, kept: Sequence[Kept], title: str) -> Recorded:
    """Operations that have not ended are drawn up to the last time that is known."""
    timeline = Timeline(title)
    spans = [(one, one.operation.span_us) for one in kept]
    last = max((time for _, span in spans if span for time in span if time < math.inf), default=0.0)
    for node in hubs.nodes:
        track = timeline.track("processors", f"node {node.number}")
        for one, span in spans:
            if span and one.node == node.number:
                ended = "" if span[1] < math.inf else ", has not ended"
                about: dict[str, object] = {"error": one.operation.error} if one.operation.error else {}
                track.spans.append(Span(span[0], min(span[1], max(last, span[0])), one.name + ended, about))
    ticks_per_us = hubs._sim.ticks_per_second / 1e6
    begin_us = hubs._sim.start / ticks_per_us
    return with_links(timeline, hubs.cluster, hubs._sim.link_use(), ticks_per_us, None, "words", begin_us)
