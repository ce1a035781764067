# SPDX-License-Identifier: Apache-2.0
"""Timelines of networks."""

from __future__ import annotations

from thalweg.systems.vcsn._sim import Network
from thalweg.systems.vcsn.cluster import Cluster, Fpga, Node
from thalweg.trace import Recorded, Span, Timeline
from thalweg.trace.recorded import with_links


def recorded(cluster: Cluster, network: Network) -> Recorded:
    """Returns the timeline: packets at the crossbars, and link traffic."""
    per_us = network.ticks_per_second / 1e6
    timeline = Timeline("")
    for node in cluster.fpgas:
        table = cluster.fpga(node)

        def name(place: int, engine: str, table: Fpga = table) -> str:
            if place < table.dmas:
                return f"{engine} engine {place}"
            port, virtual = divmod(place - table.dmas, table.virtual_of_port)
            if port < table.ports:
                return f"virtual port {port}.{virtual}"
            stream = place - table.dmas - table.ports * table.virtual_of_port
            sequencers = table.sequencers if isinstance(table, Node) else 0
            return f"sequencer {stream}" if stream < sequencers else f"kernel {stream - sequencers}"

        packets: dict[int, list[Span]] = {}
        for source, output, begin, end, words in network.passed(node):
            span = Span(begin / per_us, end / per_us, f"from {name(source, 'read')}", {"words": words})
            packets.setdefault(output, []).append(span)
        for output in sorted(packets):
            timeline.track(f"node {node}", f"to {name(output, 'write')}").spans.extend(packets[output])
    return with_links(timeline, cluster, network.link_use(), per_us, cluster.gbit_s(0) * 1e3 / 512, "words")
