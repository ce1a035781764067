# SPDX-License-Identifier: Apache-2.0
"""Timelines of kernel runs: kernels, their stalls, and packets on the links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from thalweg.systems.smi.cluster import Cluster
from thalweg.trace import Recorded, Span, Timeline
from thalweg.trace.recorded import LinkUse, with_links

if TYPE_CHECKING:
    from thalweg.systems.smi._sim import Run


Stalls = Sequence[tuple[str, Sequence[tuple[int, int, int]]]]
"""Reason of stalls, and start, end and stalled ticks of spans with such stalls."""


class Raw(NamedTuple):
    """Recorded data of a run, as plain values for the transfer between processes."""

    kernels: Sequence[tuple[int, str, int | None]]
    """Rank, name and final cycle of kernels that have ended."""
    stalls: Sequence[Stalls]
    links: Sequence[LinkUse]
    ticks_per_us: float
    cycles_per_us: float


def raw(run: Run) -> Raw:
    kernels = [(rank, name, cycle if ended else None) for rank, name, _, ended, cycle in run.started()]
    return Raw(kernels, run.stalls(), run.link_use(), run.ticks_per_second / 1e6, run.hertz / 1e6)


def recorded(raw: Raw, cluster: Cluster, title: str) -> Recorded:
    """Returns the timeline. Kernels that have not ended extend to the last known time."""
    timeline = Timeline(title)
    ends = [cycle / raw.cycles_per_us for _, _, cycle in raw.kernels if cycle is not None]
    stalled = [end / raw.ticks_per_us for of in raw.stalls for _, spans in of for _, end, _ in spans]
    last = max(ends + stalled, default=0.0)
    for (rank, name, cycle), causes in zip(raw.kernels, raw.stalls, strict=True):
        track = timeline.track("kernels, and their stalls", f"rank {rank}: {name}")
        end = last if cycle is None else cycle / raw.cycles_per_us
        track.spans.append(Span(0.0, end, name, {} if cycle is not None else {"ended": "no"}))
        for cause, spans in causes:
            for begin, until, ticks in spans:
                about: dict[str, object] = {"stalled": f"{100 * ticks / (until - begin):.0f} %"}
                track.spans.append(Span(begin / raw.ticks_per_us, until / raw.ticks_per_us, cause, about))
    packets_per_us = cluster.link.gbit_s * 1e3 / (8 * cluster.node.packet_bytes)
    return with_links(timeline, cluster, raw.links, raw.ticks_per_us, packets_per_us, "packets")
