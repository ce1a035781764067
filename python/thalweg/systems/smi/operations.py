# SPDX-License-Identifier: Apache-2.0
"""What can be measured on clusters of SMI: `thalweg bench` and `thalweg.bench` plan it here, with the same options."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from thalweg.bench.operation import Operation, Plan, Progress, Row, Sizes, WrongRows, at_least, one_of, parse_sizes
from thalweg.errors import InputError
from thalweg.systems.smi import bounds, metadata
from thalweg.systems.smi.cluster import Cluster
from thalweg.systems.smi.run import Result, Run

BYTES = metadata.BYTES
COLLECTIVES = ("broadcast", "reduce", "scatter", "gather")
MOST_SENDERS = 4
ROUNDS = 20
"""Of a ping-pong."""


def check(rows: Sequence[Row]) -> None:
    """Raises WrongRows where a result is wrong, or a time is below its bound."""
    for row in rows:
        what = f"{row['operation']} of {row.get('bytes', 'one element')} bytes"
        if not row["verified"]:
            raise WrongRows(f"{what} gave a wrong result", rows)
        if row["time_us"] < row["bound_us"]:
            raise WrongRows(
                f"{what} took {row['time_us']:.4g} us, which is below its bound of {row['bound_us']:.4g} us: one of the two is wrong",
                rows,
            )


def distances(cluster: Cluster, source: int) -> list[int]:
    """Links from a rank to each."""
    neighbours: list[list[int]] = [[] for _ in range(cluster.topology.nodes)]
    for one, _, other, _ in cluster.topology.links.tolist():
        neighbours[one].append(other)
        neighbours[other].append(one)
    far = [-1] * cluster.topology.nodes
    far[source] = 0
    waiting = deque([source])
    while waiting:
        at = waiting.popleft()
        for other in neighbours[at]:
            if far[other] < 0:
                far[other] = far[at] + 1
                waiting.append(other)
    return far


def at_distance(cluster: Cluster, hops: int) -> int:
    """A rank that many links from rank 0. Raises InputError."""
    far = distances(cluster, 0)
    if hops not in far or hops < 1:
        raise InputError(f"{hops} hops; from rank 0 of {cluster.name} they are 1 to {max(far)}")
    return far.index(hops)


class _Micro:
    """A run of the benchmark's kernels."""

    def __init__(
        self, cluster: Cluster, element: str, endpoints: Sequence[tuple[str, int]], ranks: int | None = None
    ) -> None:
        operations = [
            metadata.Operation.model_validate({"type": kind, "port": port, "data_type": element})
            for kind, port in endpoints
        ]
        self.run = Run(
            cluster,
            ranks,
            metadata.Program("micro", tuple(operations), cluster.node.reads, cluster.topology.nodes),
            defines=(f"ELEMENT={element}", f"TYPE=SMI_{element.upper()}"),
        )
        self.file = Path(__file__).parent / "kernels" / "micro.c"
        self.wrong: list[np.ndarray[tuple[int, ...], np.dtype[np.int32]]] = []

    def start(self, kernel: str, rank: int, checks: bool = False, **arguments: Any) -> None:
        if checks:
            buffer = self.run.buffer(rank, np.full(1, -1, np.int32))
            self.run.kernel(self.file, kernel, rank, wrong=buffer, **arguments)
        else:
            self.run.kernel(self.file, kernel, rank, **arguments)

    def end(self) -> tuple[Result, bool]:
        """The result, and whether every element was right."""
        result = self.run.run()
        return result, all(buffer.array[0] == 0 for buffer in self.run._buffers)


def pushes(cluster: Cluster, element: str, count: int, peer: int, senders: int) -> tuple[Result, bool]:
    """`count` elements from each of some kernels of rank 0, at ports of their own, to those of another rank."""
    ports = range(senders)
    micro = _Micro(cluster, element, [("push", port) for port in ports] + [("pop", port) for port in ports])
    for port in ports:
        micro.start(f"sends_{port}", 0, n=count, peer=peer)
        micro.start(f"takes_{port}", peer, True, n=count, peer=0)
    return micro.end()


def ping_pong_us(cluster: Cluster, element: str, peer: int) -> tuple[float, bool]:
    """Half of the time of a message of one element there and back."""
    micro = _Micro(cluster, element, [("push", 0), ("pop", 0), ("push", 1), ("pop", 1)])
    micro.start("asks", 0, True, rounds=ROUNDS, peer=peer)
    micro.start("answers", peer, rounds=ROUNDS, peer=0)
    result, right = micro.end()
    return result.cycle(0, "asks") / result.hertz * 1e6 / (2 * ROUNDS), right


def injection(cluster: Cluster, messages: int, reads: int) -> tuple[float, bool]:
    """Cycles from a message of one element to the next one of a kernel whose send kernel has as many inputs as links, and one."""
    node = cluster.node.model_copy(update={"reads": reads})
    cluster = replace(cluster, nodes={cluster.node_name: node})
    links = cluster.node.links
    # Four channels of a rank, one at each link; the one that is used is at the link that leads to the other rank.
    way = int(np.flatnonzero(cluster.send_tables[0, :, 1] == 0)[0]) if cluster.topology.nodes > 1 else 0
    endpoints: list[tuple[str, int]] = [("push", port) for port in range(1, links + 1)]
    endpoints[way] = ("push", 0)
    endpoints.append(("pop", 0))
    times = []
    right = True
    for count in (messages, 2 * messages):
        micro = _Micro(cluster, "int", endpoints)
        micro.start("injects", 0, n=count, peer=1)
        micro.start("collects", 1, True, n=count, peer=0)
        result, verified = micro.end()
        times.append(result.cycle(0, "injects"))
        right &= verified
    return (times[1] - times[0]) / messages, right


def collective(
    cluster: Cluster, operation: str, element: str, count: int, ranks: int, root: int
) -> tuple[Result, bool]:
    micro = _Micro(cluster, element, [(operation, 0)], ranks)
    for rank in range(ranks):
        name = "broadcasts" if operation == "broadcast" else f"{operation}s"
        micro.start(name, rank, True, n=count, root=root)
    return micro.end()


def _sizes(sizes: Sizes, element: str, most: int = 1 << 26) -> list[int]:
    one_of("type", element, BYTES)
    wanted = parse_sizes(sizes)
    if bad := [size for size in wanted if size % BYTES[element] or not 0 < size <= most]:
        raise InputError(f"{bad[0]} bytes; they are elements of {BYTES[element]}, and {most} bytes at most")
    return wanted


def push(
    cluster: Cluster,
    *,
    element: str = "float",
    senders: int = 1,
    hops: int = 1,
    sizes: Sizes = "4:1M",
) -> Plan:
    """`senders`: kernels at ports of their own, each with its part of the bytes. `hops`: links between the ranks."""
    wanted = _sizes(sizes, element)
    if not 1 <= at_least("senders", senders, 1) <= MOST_SENDERS:
        raise InputError(f"{senders} senders; there are kernels for {MOST_SENDERS}")
    peer = at_distance(cluster, hops)
    if bad := [size for size in wanted if size % (senders * BYTES[element])]:
        raise InputError(f"{bad[0]} bytes are no elements for each of {senders} senders")

    def measure(progress: Progress, _: int) -> Iterator[Row]:
        for index, size in enumerate(wanted):
            count = size // BYTES[element] // senders
            result, right = pushes(cluster, element, count, peer, senders)
            bound = bounds.push_us(cluster, size // BYTES[element], BYTES[element], hops, senders)
            yield {
                "operation": "push",
                "bytes": size,
                "element": element,
                "senders": senders,
                "hops": hops,
                "time_us": result.time_us,
                "bound_us": bound,
                "share": bound / result.time_us,
                "gbit_per_s": size * 8 / result.time_us / 1e3,
                "share_of_payload": size * 8 / result.time_us / 1e3 / cluster.payload_gbit,
                "verified": right,
            }
            progress((index + 1) / len(wanted))

    of = "a kernel" if senders == 1 else f"{senders} kernels"
    title = f"push of {element} by {of}, {hops} hop{'s' * (hops > 1)}, on {cluster.name}; times in us"
    return Plan(cluster, title, measure, check=check)


def inject(cluster: Cluster, *, reads: str = "1,4,8,16", messages: int = 2000) -> Plan:
    """`reads`: of a send kernel from an input on end, R in the paper, several. Cycles between messages of one element."""
    wanted = parse_sizes(reads)
    at_least("messages", messages, 1)

    def measure(progress: Progress, _: int) -> Iterator[Row]:
        for index, times in enumerate(wanted):
            cycles, right = injection(cluster, messages, times)
            yield {
                "operation": "injection",
                "reads": times,
                "cycles": cycles,
                "polling_cycles": (times + cluster.node.links) / times,
                "link_cycles": bounds.packet_cycles(cluster),
                "time_us": cycles / cluster.mhz,
                "bound_us": 1 / cluster.mhz,
                "verified": right,
            }
            progress((index + 1) / len(wanted))

    return Plan(
        cluster, f"injection of messages of one element on {cluster.name}; cycles a message", measure, check=check
    )


def _collective(operation: str) -> Callable[..., Plan]:
    def plan(
        cluster: Cluster,
        *,
        element: str = "float",
        ranks: int = 0,
        root: int = 0,
        arity: int | None = None,
        any_order: bool | None = None,
        sizes: Sizes = "4:64K",
    ) -> Plan:
        """`ranks`: the first ones of the cluster, 0 for all. `arity`: children of a place in the tree, 0 for the paper's linear scheme.
        `any_order`: a reduction combines contributions as they come."""
        wanted = _sizes(sizes, element)
        there = cluster.topology.nodes
        taking = ranks or there
        if not 2 <= taking <= there or not 0 <= root < taking:
            raise InputError(f"{taking} ranks with root {root}; {cluster.name} has {there}, and a collective 2 or more")
        changed = {"arity": arity, "any_order": any_order}
        node = cluster.node.model_copy(update={key: value for key, value in changed.items() if value is not None})
        on = replace(cluster, nodes={cluster.node_name: node})
        far = max(distances(cluster, root)[:taking])

        def measure(progress: Progress, _: int) -> Iterator[Row]:
            for index, size in enumerate(wanted):
                count = size // BYTES[element]
                result, right = collective(on, operation, element, count, taking, root)
                bound = bounds.collective_us(on, operation, count, BYTES[element], far, taking)
                yield {
                    "operation": operation,
                    "bytes": size,
                    "element": element,
                    "ranks": taking,
                    "root": root,
                    "arity": node.arity,
                    "any_order": node.any_order,
                    "time_us": result.time_us,
                    "bound_us": bound,
                    "share": bound / result.time_us,
                    "verified": right,
                }
                progress((index + 1) / len(wanted))

        return Plan(
            cluster, f"{operation} of {element} on {taking} ranks of {cluster.name}; times in us", measure, check=check
        )

    return plan


OPERATIONS = {
    "push": Operation(push),
    "injection": Operation(inject),
    **{operation: Operation(_collective(operation)) for operation in COLLECTIVES},
}
