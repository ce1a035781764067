# SPDX-License-Identifier: Apache-2.0
"""What happened when, on a fabric: of programs that ran, and of operations of `thalweg bench`, which run once more for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from thalweg.bench.operation import Recorded, Row, peer_at
from thalweg.errors import FabricStopped
from thalweg.systems.mpi_fpga import bench, bench_data, bench_messages, choice
from thalweg.systems.mpi_fpga.bench import CollectivePlan
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.trace import Message, Span, Timeline, Track

if TYPE_CHECKING:
    from thalweg._sim import CompletionKind, FabricConfig, LinkUse
    from thalweg.systems.mpi_fpga.bench import AnyFabric

Use = dict[tuple[int, int], int]
"""Flits that a link, named by the node and port that send, has carried so far."""

LINKS = "links, % of their rate"
WINDOWS = 64  # of an operation of bench


def of_programs(
    title: str, books: Row, functions: Sequence[str], cluster: Cluster, config: FabricConfig, nodes: Sequence[int]
) -> Timeline:
    """Of what a server recorded: each rank's calls that took virtual time, collectives by communicator, messages, links' use."""
    us = 1e6 / config.ticks_per_second
    kept = books["history"]
    timeline = Timeline(title)
    ranks = [timeline.track("ranks, in calls of MPI", f"rank {rank} (node {node})") for rank, node in enumerate(nodes)]
    for rank, function, begin, end in kept["calls"]:
        ranks[rank].spans.append(Span(begin * us, end * us, functions[function], {}))
    communicators: dict[str, Track] = {}
    for name, function, how, size, first, last, end in kept["collectives"]:
        track = communicators.get(name)
        if track is None:
            track = communicators[name] = timeline.track("collectives, from the first rank's entry on", name)
        about = {"by": how, "bytes": size, "last rank's entry": f"{last * us:.6g} us"}
        track.spans.append(Span(first * us, end * us, function, about))
    for sender, receiver, tag, size, begin, end in kept["messages"]:
        about = {"bytes": size, "tag": tag, "to": f"rank {receiver}"}
        timeline.messages.append(
            Message(ranks[sender], ranks[receiver], begin * us, end * us, f"to rank {receiver}", about)
        )
    window = kept["window"]
    seen = [{(node, port): flits for node, port, flits in links} for links in kept["links"]]
    last = {(node, port): flits for node, port, flits in books["links"]}
    ends = [window * number for number in range(1, len(seen) + 1)]
    if books["virtual_time"] > (ends[-1] if ends else 0):
        seen, ends = [*seen, last], [*ends, books["virtual_time"]]
    add_links(timeline, cluster, config, [(0, {}), *zip(ends, seen, strict=True)], us)
    return timeline


def add_links(
    timeline: Timeline,
    cluster: Cluster,
    config: FabricConfig,
    seen: Sequence[tuple[int, Use]],
    us: float,
    start: float = 0.0,
) -> None:
    """Counters of the links that carried something, with the share of their rate that they had between two looks, in percent.
    Times of looks count from `start`, in us."""
    rates = {}
    for link in config.links:
        rate = min(1.0, link.rate_flits / link.rate_cycles)  # a router sends a flit a tick at most
        rates[link.node_a, link.port_a] = rates[link.node_b, link.port_b] = rate
    counters = {counter.name: counter for counter in timeline.counters}
    peers = cluster.topology.peer
    for node, port in sorted(seen[-1][1] if seen else ()):
        name = f"{node}.{port} to {peers[node, port]}"
        counter = counters.get(name) or timeline.counter(LINKS, name, "%")
        for (begin, before), (end, after) in pairwise(seen):
            flits = after.get((node, port), 0) - before.get((node, port), 0)
            counter.values.append((start + begin * us, 100 * flits / ((end - begin) * rates[node, port])))
        counter.values.append((start + seen[-1][0] * us, 0.0))


def links_of(uses: Iterable[LinkUse]) -> list[Row]:
    return [{"node": use.node, "port": use.port, "flits": use.flits} for use in uses if use.flits]


def _watched(
    fabric: AnyFabric, awaited: set[int], kind: CompletionKind, window: int
) -> tuple[dict[int, int], list[tuple[int, Use]]]:
    """The times of completions, and what the links had carried at the end of each window. Raises FabricStopped."""
    start = fabric.now
    ends: dict[int, int] = {}
    seen: list[tuple[int, Use]] = []

    def look() -> None:
        seen.append((fabric.now - start, {(use.node, use.port): use.flits for use in fabric.link_use()}))

    look()
    while len(ends) < len(awaited):
        until = start + seen[-1][0] + window
        for completion in fabric.advance(until):
            if completion.kind == kind:
                ends[completion.handle] = completion.at - start
        if fabric.now >= until:
            look()
        if fabric.idle and len(ends) < len(awaited):
            raise FabricStopped(f"the fabric came to rest with {len(awaited) - len(ends)} parts unfinished")
    if fabric.now > start + seen[-1][0]:
        look()
    return ends, seen


class _Recorder:
    """Operations one after another on one timeline, with a gap between them."""

    def __init__(self, title: str, cluster: Cluster) -> None:
        self.timeline = Timeline(title)
        self.cluster = cluster
        self.config = cluster.fabric_config()
        self.us = 1e6 / self.config.ticks_per_second
        self.start = 0.0
        self.links: list[Row] = []

    def run(
        self,
        time_us: float,
        awaited: set[int],
        kind: CompletionKind,
        begin: Callable[[AnyFabric], None],
    ) -> dict[int, float]:
        """One operation, which takes about so long; `begin` gives it to a fabric. Returns when each handle completed, in us."""
        from thalweg import _sim

        fabric = _sim.Fabric(self.config, _sim.Endpoint.host)
        begin(fabric)
        window = max(1, round(time_us / self.us / WINDOWS))
        ends, seen = _watched(fabric, awaited, kind, window)
        add_links(self.timeline, self.cluster, self.config, seen, self.us, self.start)
        self.links = links_of(fabric.link_use())
        return {handle: self.start + at * self.us for handle, at in ends.items()}

    def done(self) -> None:
        self.start = 1.1 * self.timeline.end


def of_collective(plan: CollectivePlan, rows: Sequence[Row]) -> Recorded:
    from thalweg import _sim

    recorder = _Recorder(f"{plan.operation} of {plan.ranks} ranks on {plan.cluster.name}", plan.cluster)
    tracks = [recorder.timeline.track("ranks", f"rank {rank} (node {node})") for rank, node in enumerate(plan.nodes)]
    members = list(range(plan.ranks))
    for row in rows:
        size = row["bytes"]

        def begin(fabric: AnyFabric, size: int = size, algorithm: str = row["algorithm"]) -> None:
            context = bench.communicator(fabric, plan, members)
            given, results = bench_data.operands(plan, size), bench_data.room(plan, size)
            by = choice.algorithm_named(algorithm)
            bench.submit(fabric, plan, by, context, size, given, results, members, fabric.now)

        ends = recorder.run(row["time_us"], set(members), _sim.CompletionKind.collective, begin)
        about = {"bytes": size, "by": row["algorithm"]}
        for rank, track in enumerate(tracks):
            track.spans.append(Span(recorder.start, ends[rank], f"{plan.operation} {size} B", about))
        recorder.done()
    return Recorded(recorder.timeline, recorder.links)


def of_messages(cluster: Cluster, operation: str, hops: int, rows: Sequence[Row]) -> Recorded:
    from thalweg import _sim

    peer = peer_at(cluster, hops)
    recorder = _Recorder(f"{operation} from node 0 to node {peer} on {cluster.name}", cluster)
    tracks = [recorder.timeline.track("nodes", f"node {node}") for node in (0, peer)]
    messages = bench_messages.messages_of(operation)
    for row in rows:
        size = row["bytes"]

        def begin(fabric: AnyFabric, size: int = size) -> None:
            for handle in range(messages):
                fabric.send(handle=handle, source=0, destination=peer, bytes=size, at=0)

        ends = recorder.run(row["time_us"], set(range(messages)), _sim.CompletionKind.arrived, begin)
        about: dict[str, Any] = {"bytes": size}
        recorder.timeline.messages += [
            Message(tracks[0], tracks[1], recorder.start, end, f"{size} B", about) for end in ends.values()
        ]
        recorder.done()
    return Recorded(recorder.timeline, recorder.links)
