# SPDX-License-Identifier: Apache-2.0
"""Random programs on whole clusters of hubs: by the simulator alone, then with the hardware's hubs in step with its own. Compared are
every port of every hub in every cycle, when each operation ended, what the hubs counted, and what stands in all memories."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thalweg.errors import CheckFailed, FabricStopped, InputError
from thalweg.systems.peach2.cluster import Cluster
from thalweg.systems.peach2.hubs import Hubs, Node, Operation, Reduction

AREA = 1 << 16
"""Bytes from 0 on in each memory, where data are."""
RESULTS = 1 << 20
FLAGS = 2 << 20
_PAGE = 4096
_ALL_PAGES = (1 << 27) - 1
_NODE_PAGES = 1 << 23  # 32 GByte
_MEMORY_PAGES = 1 << 21
_NORTH, _EAST, _WEST, _SOUTH, _BUS = range(5)

Window = tuple[int, int, int, int]


def with_phase(cluster: Cluster, phase: int) -> Cluster:
    """The bus's first edge `phase` ticks of all clocks later."""
    name = cluster.node.bus_clock
    clock = cluster.clocks[name].model_copy(update={"phase_ns": phase * 1e9 / cluster.ticks_per_second})
    return cluster.with_clock(name, clock)


def random_windows(draw: random.Random, cluster: Cluster) -> list[list[Window]]:
    """Ways of a ring without a circle: its links between two neighbours are used by nobody, and everything goes the other way round; ranges
    cut in two, with pages between that nobody has, compared by their highest bits alone, and ranges that nobody has."""
    nodes = cluster.topology.nodes
    cut = draw.randrange(nodes)  # between this one and the next
    order = [(cut + 1 + place) % nodes for place in range(nodes)]
    tables = []
    for node in range(nodes):
        place, windows = order.index(node), []
        for other in range(nodes):
            to = _NORTH if other == node else _EAST if order.index(other) > place else _WEST
            first = other * _NODE_PAGES
            upper = first + _NODE_PAGES - 1
            match draw.randrange(4):
                case 0:
                    windows.append((to, 0x7800000, first, first))  # the node's number alone
                case 1:
                    gap = first + draw.randrange(3) * _MEMORY_PAGES + draw.randrange(1, AREA // _PAGE)
                    windows += [(to, _ALL_PAGES, first, gap - 1), (to, _ALL_PAGES, gap + draw.randrange(3), upper)]
                case _:
                    windows.append((to, _ALL_PAGES, first, upper))
        draw.shuffle(windows)
        nobody = 15 * _NODE_PAGES + draw.randrange(1 << 20)
        if place + 1 < nodes and draw.random() < 0.5:  # goes on to the last one, which has no window for it
            windows.append((_EAST, _ALL_PAGES, nobody, nobody + draw.randrange(1 << 10)))
        tables.append(windows[:16])
    return tables


@dataclass
class Outcome:
    said: str  #: where it stopped
    times: list[tuple[int, int]]  #: negative of what has not begun, or not ended
    counts: list[dict[str, Any]]
    memories: list[bytes]

    @property
    def refused(self) -> int:
        """Packets."""
        return sum(count for of_hub in self.counts for count, *_ in of_hub["refused"])


def run(cluster: Cluster, engine: str, seed: int) -> Outcome:
    """A random program. Raises CheckFailed where the hardware differs."""
    draw = random.Random(seed)
    cluster = with_phase(cluster, draw.randrange(cluster.ticks_of(cluster.node.bus_clock)))
    hubs = Hubs(cluster, engine)
    numbers = np.random.default_rng(seed)
    if draw.random() < 0.7:
        hubs.load_windows(random_windows(draw, cluster))
    for node in hubs.nodes:
        for memory in (node.processor, *node.gpus):
            memory.write(0, numbers.standard_normal(AREA // 4, np.float32))
    operations = list(_operations(draw, numbers, hubs))
    said = ""
    try:
        hubs.run()
    except FabricStopped as stopped:
        said = str(stopped)
    memories = [
        memory.read(at, count).tobytes()
        for node in hubs.nodes
        for memory in (node.processor, *node.gpus, node.hub)
        for at, count in ((0, AREA), (RESULTS, 4096), (FLAGS, 4096))
    ]
    times = [(operation._times.begin, operation._times.end) for operation in operations]
    return Outcome(said, times, [dict(node.counts()) for node in hubs.nodes], memories)


def _operations(draw: random.Random, numbers: np.random.Generator, hubs: Hubs) -> Iterator[Operation]:
    nodes = hubs.nodes
    group = (
        hubs.group(draw.sample(range(len(nodes)), draw.randint(2, len(nodes))), RESULTS)
        if draw.random() < 0.4
        else None
    )
    rounds = draw.randint(1, 6)
    for turn in range(rounds):
        for node in nodes:
            if draw.random() < 0.3:
                yield node.work(draw.randrange(4000))
            match draw.randrange(4):
                case 0:
                    words = numbers.integers(0, 1 << 32, draw.randint(1, 100), np.uint32)
                    yield node.store(_anywhere(draw, nodes, words.nbytes), words)
                case 1 | 2:
                    copies = [_copy(draw, node, nodes) for _ in range(draw.choice((1, 1, 2, 5)))]
                    yield node.chain(copies, draw.choice(("ram", "host")), draw.random() < 0.7)
                case _:
                    yield _reduce(draw, node)
        if group and turn in (0, rounds - 1):
            for member in group.nodes:
                yield group.reduce(member, _sources(draw, nodes[member]))


def _copy(draw: random.Random, node: Node, nodes: Sequence[Node]) -> tuple[int, int, int]:
    count = 4 * draw.choice((1, 2, draw.randint(1, 64), draw.randint(1, 2000)))
    memory = draw.choice((node.processor, *node.gpus, node.hub))
    return _anywhere(draw, nodes, count), memory.address(4 * draw.randrange((AREA - count) // 4)), count


def _anywhere(draw: random.Random, nodes: Sequence[Node], count: int) -> int:
    """An address of a node's memory."""
    node = draw.choice(nodes)
    memory = draw.choice((node.processor, *node.gpus, node.hub))
    return memory.address(4 * draw.randrange((AREA - count) // 4))


def _sources(draw: random.Random, node: Node) -> list[tuple[int, int]]:
    memories = draw.sample((node.processor, *node.gpus, node.hub), draw.randint(1, 2))
    return [(memory.address(16 * draw.randrange(AREA // 32)), 32 * draw.randint(1, 64)) for memory in memories]


def _reduce(draw: random.Random, node: Node) -> Operation:
    record = draw.choice((16, 32, 64))
    count = record * draw.randint(1, 60)
    source = draw.choice(node.gpus).address(16 * draw.randrange(AREA // 32))
    how = Reduction(record_bytes=record, tree=draw.random() < 0.2, context=3)
    return node.reduce(node.processor.address(RESULTS + 2048), [(source, count)], how, draw.random() < 0.5)


def compare(cluster: Cluster, seed: int) -> Outcome:
    """Raises CheckFailed where simulator and hardware are not the same."""
    if cluster.topology.shape != "ring":
        raise InputError("cosim has random windows for rings: --cluster peach2-ring-4")
    alone = run(cluster, "sim", seed)
    try:
        beside = run(cluster, "rtl", seed)
    except CheckFailed as error:
        raise CheckFailed(f"seed {seed}: {error}") from None
    if alone.said != beside.said:
        raise CheckFailed(
            f"seed {seed}: it ends with {alone.said!r} in the simulator, {beside.said!r} with the hardware"
        )
    for what in ("times", "counts", "memories"):
        one, other = getattr(alone, what), getattr(beside, what)
        for index, (sim, rtl) in enumerate(zip(one, other, strict=True)):
            if sim != rtl:
                said = "" if what == "memories" else f": {sim} in the simulator, {rtl} with the hardware"
                raise CheckFailed(f"seed {seed}: {what} differ at {index}{said}")
    return alone
