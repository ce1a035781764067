# SPDX-License-Identifier: Apache-2.0
"""Timelines of calls: of each rank from the call to its end, with the links' traffic."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from thalweg.cluster import leaves
from thalweg.systems.accl._sim import Network
from thalweg.systems.accl.cluster import Cluster
from thalweg.trace import Recorded, Span, Timeline
from thalweg.trace.recorded import with_links


class EndedCall(NamedTuple):
    """A call that has ended; times in us."""

    rank: int
    name: str
    begin_us: float
    end_us: float


def recorded(cluster: Cluster, network: Network, calls: Iterable[EndedCall]) -> Recorded:
    """Returns a timeline that begins with the first of the calls."""
    of_ranks: dict[int, list[EndedCall]] = {}
    for call in calls:
        of_ranks.setdefault(call.rank, []).append(call)
    begin = min(call.begin_us for of_rank in of_ranks.values() for call in of_rank)
    timeline = Timeline("")
    for rank, of_rank in sorted(of_ranks.items()):
        track = timeline.track("ranks", f"rank {rank}")
        track.spans += [Span(call.begin_us - begin, call.end_us - begin, call.name, {}) for call in of_rank]
    rates = {link.gbit_s for link in cluster.links.values() if isinstance(link, leaves.Ethernet)}
    words_per_us = rates.pop() * 1e3 / 512 if len(rates) == 1 else None
    return with_links(
        timeline, cluster, network.link_use(), network.ticks_per_second / 1e6, words_per_us, "words", begin
    )
