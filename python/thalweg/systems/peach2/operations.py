# SPDX-License-Identifier: Apache-2.0
"""Operations of PEACH2 for `thalweg bench` and `thalweg.measure`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thalweg.bench.operation import Measured, Operation, Plan, Progress, Row, Sizes, at_least, one_of, parse_sizes
from thalweg.errors import InputError
from thalweg.systems.peach2 import bounds
from thalweg.systems.peach2.cluster import Cluster
from thalweg.systems.peach2.hubs import Hubs, Memory, Node
from thalweg.trace import Recorded
from thalweg.trace.recorded import in_turn

SOURCES = ("cpu", "gpu")
PUTS = ("dma", "store", "copies")
REDUCERS = ("hub", "host", "cpu")
RECORD = 32
"""Size of a record in bytes: eight fp32 fields of a particle (section 4.1)."""
MOST_STORED = 1 << 20
"""Maximum number of bytes stored by a processor."""
FLAG = 1 << 30
"""Offset of completion flags in a processor's memory, above all data."""
DATA = 1 << 20
SEEN = "the other node's processor sees that it has arrived"


def _memory(node: Node, kind: str) -> Memory:
    return node.processor if kind == "cpu" else node.gpus[0]


def _recorder(
    cluster: Cluster, engine: str, title: str, once: Callable[[Hubs, int], object]
) -> Callable[[Sequence[Row]], Recorded]:
    """Returns a function that repeats each row's operation on new hubs and records it."""

    def one(row: Row) -> Recorded:
        hubs = Hubs(cluster, engine, record=True)
        once(hubs, row["bytes"])
        return hubs.recorded()

    return lambda rows: in_turn(title, [one(row) for row in rows])


@dataclass
class _Put:
    hubs: Hubs
    source: str
    by: str
    descriptors: str
    hops: int
    sequence: int = 0

    def other(self) -> int:
        cluster = self.hubs.cluster
        for node in range(cluster.topology.nodes):
            if cluster.hops(0, node) == self.hops:
                return node
        raise AssertionError

    def once(self, data: NDArray[np.uint8]) -> tuple[float, bool]:
        """Returns the time in us from the start until the other processor sees the data, and whether they are correct."""
        one, other = self.hubs.nodes[0], self.hubs.nodes[self.other()]
        source, target = _memory(one, self.source), _memory(other, self.source)
        self.sequence += 1
        flag = np.array([self.sequence], np.uint32)
        source.write(DATA, data)
        target.write(DATA, np.zeros_like(data))
        one.store(one.processor.address(FLAG + 64), flag)
        seen_at = other.processor.address(FLAG)
        flag_copy = (seen_at, one.processor.address(FLAG + 64), 4)
        if self.by == "store":
            begin = one.store(target.address(DATA), data)
            one.store(seen_at, flag)
            end = other.wait_for(FLAG, self.sequence)
        elif self.by == "dma":
            begin = one.chain(
                [(target.address(DATA), source.address(DATA), data.size), flag_copy], self.descriptors, wait=False
            )
            end = other.wait_for(FLAG, self.sequence)
        else:
            begin = one.copy(one.processor, DATA, source, DATA, data.size)
            one.chain(
                [(other.processor.address(DATA), one.processor.address(DATA), data.size), flag_copy],
                self.descriptors,
                False,
            )
            other.wait_for(FLAG, self.sequence)
            end = other.copy(target, DATA, other.processor, DATA, data.size)
        self.hubs.run()
        return end.end_us - begin.begin_us, bool((target.read(DATA, data.size) == data).all())


def put(
    cluster: Cluster,
    *,
    engine: str = "sim",
    source: str = "cpu",
    by: str = "dma",
    descriptors: str = "ram",
    hops: int = 1,
    sizes: Sizes = "8:16M",
    seed: int = 1,
) -> Plan:
    """Plans a put from node 0's memory to another node's.

    `source` is the kind of memory at both ends. `by` is "dma" (the hub's DMA controller), "store" (the processor's
    stores) or "copies" (three copies, GPU to CPU to CPU to GPU). `hops` is the number of cables between the nodes.
    Raises InputError.
    """
    one_of("memory", source, SOURCES)
    one_of("way", by, PUTS)
    one_of("place of descriptors", descriptors, ("ram", "host"))
    wanted = parse_sizes(sizes)
    if bad := [size for size in wanted if size % 4 or not 0 < size <= 1 << 28]:
        raise InputError(f"a put of {bad[0]} bytes; the size must be a positive multiple of 4, at most 256M")
    if by == "store" and (source == "gpu" or max(wanted) > MOST_STORED):
        raise InputError(f"--by store needs --source cpu and at most {MOST_STORED} bytes")
    if by == "copies" and source == "cpu":
        raise InputError("copies between GPU and CPU need --source gpu")
    at_least("seed", seed, 0)
    farthest = max(cluster.hops(0, node) for node in range(cluster.topology.nodes))
    if not 1 <= at_least("hops", hops, 1) <= farthest:
        raise InputError(f"{hops} hops; from node 0 of {cluster.name} give 1 to {farthest}")

    def once(way: _Put, size: int) -> tuple[float, bool]:
        return way.once(np.random.default_rng([seed, size]).integers(0, 256, size, np.uint8))

    def way_on(hubs: Hubs) -> _Put:
        return _Put(hubs, source, by, descriptors, hops)

    def measure(progress: Progress, _: int) -> Iterator[Measured]:
        way = way_on(Hubs(cluster, engine))
        for index, size in enumerate(wanted):
            time, right = once(way, size)
            own = {
                "source": source,
                "by": by,
                "hops": hops,
                "gb_per_s": size / time / 1e3,
                "share_of_payload": size / time / 1e3 / cluster.payload_gb(),
            }
            if by == "dma":
                own["bottleneck"] = bounds.bottleneck(cluster, source)
            yield Measured(size, time, bounds.put_us(cluster, size, hops, source, by), right, own)
            progress((index + 1) / len(wanted))

    names = {"dma": "by DMA", "store": "by stores", "copies": "by three copies"}
    title = (
        f"put from {source.upper()} to {source.upper()} {names[by]}, {hops} hop{'s' * (hops > 1)}, on {cluster.name}"
    )
    until = "the other node's processor has copied it to the GPU" if by == "copies" else SEEN
    record = _recorder(cluster, engine, title, lambda hubs, size: once(way_on(hubs), size))
    return Plan(cluster, "put", title, until, measure, {"data": seed}, record=record)


def in_order(data: NDArray[np.float32], record: int, beats: int) -> NDArray[np.float32]:
    """Sums in the calculator's order: 16-byte beats in turn into `beats` partial sums, folded until one record is left."""
    fields, places = record // 4, beats * 4
    sums = data[:places].copy()
    for first in range(places, data.size, places):
        part = data[first : first + places]
        sums[: part.size] += part
    half = places // 2
    while half >= fields:
        low = sums[:half]
        high = sums[half : 2 * half]
        sums = low.copy()
        sums[: high.size] += high
        half //= 2
    return sums[:fields]


def _summed(data: NDArray[np.float32]) -> NDArray[np.float32]:
    sums: NDArray[np.float32] = np.add.reduce(data.reshape(-1, RECORD // 4))
    return sums


@dataclass
class _Reduce:
    hubs: Hubs
    nodes: Sequence[int]
    by: str
    at: int = 1 << 29

    def __post_init__(self) -> None:
        self.group = self.hubs.group(self.nodes, self.at) if self.by == "hub" and len(self.nodes) > 1 else None
        self.hubs.run()

    def once(self, data: Sequence[NDArray[np.float32]]) -> tuple[float, bool]:
        """Returns the time in us until the last processor has the result, and whether it is correct bit by bit."""
        cluster, begins, ends = self.hubs.cluster, [], []
        fields = RECORD // 4
        for number, values in zip(self.nodes, data, strict=True):
            node = self.hubs.nodes[number]
            half = values.size // fields // 2 * fields
            parts = [(node.gpus[0], values[:half]), (node.gpus[1], values[half:])]
            parts = [(gpu, part) for gpu, part in parts if part.size]
            for gpu, part in parts:
                gpu.write(DATA, part)
            sources = [(gpu.address(DATA), part.nbytes) for gpu, part in parts]
            if self.group:
                operation = self.group.reduce(number, sources)
            elif self.by != "cpu":
                operation = node.reduce(node.processor.address(self.at), sources, by_hub=self.by == "hub")
            else:
                at = DATA
                for gpu, part in parts:
                    begins.append(node.copy(node.processor, at, gpu, DATA, part.nbytes))
                    at += part.nbytes
                node.processor.write(self.at, _summed(values))  # the additions, whose time is the following work
                node.work(values.nbytes / cluster.node.sum_gb)
                operation = node.copy(node.gpus[0], self.at, node.processor, self.at, RECORD)
            begins.append(operation)
            ends.append(operation)
        self.hubs.run()
        time = max(each.end_us for each in ends) - min(each.begin_us for each in begins)
        if self.by == "cpu":
            (values,), node = data, self.hubs.nodes[self.nodes[0]]
            sums = _summed(node.processor.read(DATA, values.size, np.float32))
            return time, np.array_equal(node.gpus[0].read(self.at, fields, np.float32), sums)
        expected = self._expected(data)
        got = [self.hubs.nodes[number].processor.read(self.at, fields, np.float32) for number in self.nodes]
        return time, all(np.array_equal(each, expected) for each in got)

    def _expected(self, data: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        """Sums each hub's records, then the sums of eight hubs each, then these."""
        beats = self.hubs.cluster.node.sums
        sums = [in_order(values, RECORD, beats) for values in data]
        while len(sums) > 1:
            at_once = beats * 16 // RECORD
            eights = [sums[first : first + at_once] for first in range(0, len(sums), at_once)]
            sums = [in_order(np.concatenate(eight), RECORD, beats) for eight in eights]
        return sums[0]


def reduce(
    cluster: Cluster, *, engine: str = "sim", by: str = "hub", nodes: int = 1, sizes: Sizes = "1K:16M", seed: int = 1
) -> Plan:
    """Plans a reduction of records in GPU memories.

    `by` is "hub" (the hub starts the copy of the result), "host" (the host polls for the result) or "cpu" (the
    processor reduces copies from the GPUs). `nodes` reduce together, `sizes` bytes each, and all get the result. Raises
    InputError.
    """
    one_of("way", by, REDUCERS)
    wanted = parse_sizes(sizes)
    most = (1 << 28) // cluster.node.contexts
    if bad := [size for size in wanted if size % RECORD or not 0 < size <= most]:
        raise InputError(f"{bad[0]} bytes; the size must be a positive multiple of {RECORD} (a record), at most {most}")
    if not 1 <= at_least("nodes", nodes, 1) <= cluster.topology.nodes:
        raise InputError(f"{nodes} nodes; {cluster.name} has {cluster.topology.nodes}")
    at_least("seed", seed, 0)
    if nodes > 1 and by != "hub":
        raise InputError("reductions over several nodes need --by hub")

    all_nodes = list(range(nodes))

    def once(way: _Reduce, size: int) -> tuple[float, bool]:
        draws = [np.random.default_rng([seed, size, node]) for node in all_nodes]
        return way.once([draw.standard_normal(size // 4, np.float32) for draw in draws])

    def measure(progress: Progress, _: int) -> Iterator[Measured]:
        way = _Reduce(Hubs(cluster, engine), all_nodes, by)
        for index, size in enumerate(wanted):
            time, right = once(way, size)
            own = {"by": by, "nodes": nodes, "gb_per_s": size / time / 1e3}
            yield Measured(size, time, bounds.reduce_us(cluster, size, all_nodes, RECORD, by), right, own)
            progress((index + 1) / len(wanted))

    names = {"hub": "by hubs", "host": "by the hub, polled by the host", "cpu": "by the processor"}
    where = f"on {nodes} nodes of" if nodes > 1 else "on a node of"
    until = "the result is in the GPU" if by == "cpu" else "the last processor has the result"
    title = f"reduce {names[by]}, {where} {cluster.name}"
    record = _recorder(cluster, engine, title, lambda hubs, size: once(_Reduce(hubs, all_nodes, by), size))
    return Plan(cluster, "reduce", title, until, measure, {"data": seed}, record=record)


OPERATIONS = {"put": Operation(put), "reduce": Operation(reduce)}
