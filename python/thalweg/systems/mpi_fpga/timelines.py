# SPDX-License-Identifier: Apache-2.0
"""Timelines of programs, and of operations of `thalweg bench`, which are repeated for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from thalweg.bench.operation import Row, peer_at
from thalweg.systems.mpi_fpga import bench, bench_data, bench_jobs, bench_messages, choice
from thalweg.systems.mpi_fpga.bench import CollectivePlan
from thalweg.systems.mpi_fpga.bench_jobs import JobsPlan
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.trace import Message, Recorded, Span, Timeline, Track
from thalweg.trace.recorded import LINKS, in_turn

if TYPE_CHECKING:
    from thalweg.systems.mpi_fpga._sim import FabricConfig, LinkUse
    from thalweg.systems.mpi_fpga.bench import AnyFabric

Use = dict[tuple[int, int], int]
"""Flits carried so far by each link, identified by sending node and port."""

WINDOWS = 64  # per operation of bench


def of_programs(
    title: str, books: Row, functions: Sequence[str], cluster: Cluster, config: FabricConfig, nodes: Sequence[int]
) -> Timeline:
    """Returns the timeline recorded by a server: MPI calls that took virtual time, collectives, messages and link use."""
    us = 1e6 / config.ticks_per_second
    kept = books["history"]
    timeline = Timeline(title)
    spans: list[dict[str, list[Span]]] = [{"0": []} for _ in nodes]
    for rank, thread, function, begin, end in kept["calls"]:
        spans[rank].setdefault(thread, []).append(Span(begin * us, end * us, functions[function], {}))
    ranks: list[Track] = []
    for rank, node in enumerate(nodes):
        ranks.append(timeline.track("ranks, in calls of MPI", f"rank {rank} (node {node})"))
        ranks[rank].spans = spans[rank].pop("0")
        for thread in sorted(spans[rank], key=lambda path: [int(part) for part in path.split(".")]):
            timeline.track("ranks, in calls of MPI", f"rank {rank} thread {thread}").spans = spans[rank][thread]
    communicators: dict[str, Track] = {}
    for name, function, how, size, first, last, end in kept["collectives"]:
        track = communicators.get(name)
        if track is None:
            track = communicators[name] = timeline.track("collectives, from the entry of the first rank", name)
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
) -> None:
    """Adds counters of used links: their utilization between two samples, in percent."""
    rates = {}
    for link in config.links:
        rate = min(1.0, link.rate_flits / link.rate_cycles)  # a router sends at most one flit per tick
        rates[link.node_a, link.port_a] = rates[link.node_b, link.port_b] = rate
    peers = cluster.topology.peer
    for node, port in sorted(seen[-1][1] if seen else ()):
        counter = timeline.counter(LINKS, f"{node}.{port} to {peers[node, port]}", "%")
        for (begin, before), (end, after) in pairwise(seen):
            flits = after.get((node, port), 0) - before.get((node, port), 0)
            counter.values.append((begin * us, 100 * flits / ((end - begin) * rates[node, port])))
        counter.values.append((seen[-1][0] * us, 0.0))


def links_of(uses: Iterable[LinkUse]) -> list[Row]:
    return [{"node": use.node, "port": use.port, "flits": use.flits} for use in uses if use.flits]


def _watched(fabric: AnyFabric, awaited: set[int], window: int) -> tuple[dict[int, int], list[tuple[int, Use]]]:
    """Returns the times of completions, and the links' counters at the end of each window. Raises FabricStopped."""
    start = fabric.now
    ends: dict[int, int] = {}
    seen: list[tuple[int, Use]] = []

    def sample() -> None:
        seen.append((fabric.now - start, {(use.node, use.port): use.flits for use in fabric.link_use()}))

    sample()
    while len(ends) < len(awaited):
        until = start + seen[-1][0] + window
        for completion in fabric.advance(until):
            if completion.last:
                ends[completion.handle] = completion.at - start
        if fabric.now >= until:
            sample()
        if fabric.idle and len(ends) < len(awaited):
            raise bench.unfinished_error(fabric, len(awaited) - len(ends))
    if fabric.now > start + seen[-1][0]:
        sample()
    return ends, seen


def _recorded(
    cluster: Cluster,
    time_us: float,
    awaited: set[int],
    begin: Callable[[AnyFabric], None],
) -> tuple[dict[int, float], Recorded]:
    """Records one operation of about `time_us`; `begin` submits it. Returns the completion times in us, and the timeline."""
    from thalweg.systems.mpi_fpga import _sim

    config = cluster.fabric_config()
    us = 1e6 / config.ticks_per_second
    fabric = _sim.Fabric(config, _sim.Endpoint.host)
    begin(fabric)
    ends, seen = _watched(fabric, awaited, max(1, round(time_us / us / WINDOWS)))
    timeline = Timeline("")
    add_links(timeline, cluster, config, seen, us)
    return {handle: at * us for handle, at in ends.items()}, Recorded(timeline, cluster, links_of(fabric.link_use()))


def of_collective(plan: CollectivePlan, rows: Sequence[Row]) -> Recorded:

    parts = []
    members = list(range(plan.ranks))
    for row in rows:
        size = row["bytes"]

        def begin(fabric: AnyFabric, size: int = size, algorithm: str = row["algorithm"]) -> None:
            context = bench.communicator(fabric, plan, members)
            given, results = bench_data.operands(plan, size), bench_data.room(plan, size)
            by = choice.algorithm_named(algorithm)
            bench.submit(fabric, plan, by, context, size, given, results, members, fabric.now)

        ends, recorded = _recorded(plan.cluster, row["time_us"], set(members), begin)
        about = {"bytes": size, "by": row["algorithm"]}
        for rank, node in enumerate(plan.nodes):
            track = recorded.timeline.track("ranks", f"rank {rank} (node {node})")
            track.spans.append(Span(0.0, ends[rank], f"{plan.operation} {size} B", about))
        parts.append(recorded)
    return in_turn(f"{plan.operation} of {plan.ranks} ranks on {plan.cluster.name}", parts)


def of_jobs(title: str, plans: Sequence[JobsPlan]) -> Recorded:
    """Returns the timeline of each sharing mode and size, with all jobs running; a job repeats its operation until all
    have completed."""
    recorded = []
    for plan in plans:
        us = 1e6 / plan.cluster.fabric_config().ticks_per_second
        for size in plan.job(0).measured_sizes:
            parts, use = bench_jobs.run_together(plan, size)
            timeline = Timeline("")
            tracks = [
                [
                    timeline.track(f"job {job}, {plan.operations[job]}", f"rank {rank} (node {node})")
                    for rank, node in enumerate(nodes)
                ]
                for job, nodes in enumerate(plan.nodes)
            ]
            for job, rank, begin, end in sorted(parts, key=lambda part: part[2:]):
                about = {"bytes": size, "sharing": str(plan.share or bench_jobs.UNSHARED)}
                tracks[job][rank].spans.append(Span(begin * us, end * us, f"{plan.operations[job]} {size} B", about))
            recorded.append(Recorded(timeline, plan.cluster, links_of(use)))
    return in_turn(title, recorded)


def of_messages(cluster: Cluster, operation: str, hops: int, rows: Sequence[Row]) -> Recorded:

    peer = peer_at(cluster, hops)
    parts = []
    messages = bench_messages.messages_of(operation)
    for row in rows:
        size = row["bytes"]

        def begin(fabric: AnyFabric, size: int = size) -> None:
            for handle in range(messages):
                fabric.send(handle=handle, source=0, destination=peer, bytes=size, at=0)

        ends, recorded = _recorded(cluster, row["time_us"], set(range(messages)), begin)
        one, other = (recorded.timeline.track("nodes", f"node {node}") for node in (0, peer))
        about: dict[str, Any] = {"bytes": size}
        recorded.timeline.messages += [Message(one, other, 0.0, end, f"{size} B", about) for end in ends.values()]
        parts.append(recorded)
    return in_turn(f"{operation} from node 0 to node {peer} on {cluster.name}", parts)
