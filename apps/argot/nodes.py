# SPDX-License-Identifier: Apache-2.0
"""Nodes of PEACH2 with two GPUs each: exchange of optical depths, and sums of records over the mesh.

`HubNodes` communicate by their hubs: puts from GPU to GPU, and reductions by calculators. `ProcessorNodes` copy data to
their processors, which put them to each other and add. Both sum in one fixed tree: a calculator sums each sixteenth of the
mesh, and the sixteen sums are combined upper half with lower half. Node r of R has the sixteenths r, r + R, ..., so it does
the first halvings itself. Thus no bit depends on R.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from mesh import MAX_BOXES
from numpy.typing import NDArray
from thalweg.errors import CheckFailed, InputError
from thalweg.peach2 import Hubs, Kernel, Memory, Node, Operation, Reduction

PARTS = MAX_BOXES // 2
"""Parts of the mesh, each of two boxes, that calculators sum."""
FIELDS = 8
RECORD = 4 * FIELDS
RANKS = (1, 2, 4, 8, 16)
SLOT = 1 << 26  # bytes for the faces that a GPU gets from one side
SIDES = 6

# In a GPU's memory:
RECORDS = 0
OUT = 1 << 30
IN = 2 << 30
# In a processor's memory:
STAGED = 0
SUMS = 1 << 30
FLAGS = SUMS + (1 << 16)
SENT_FLAG = FLAGS + 4 * 2 * SIDES
# In both:
RESULT = 3 << 30

Floats = NDArray[np.float32]


class Message(NamedTuple):
    """Optical depths on their way to a neighbouring GPU. GPU g is GPU g // ranks of node g % ranks."""

    source: int
    target: int
    side: int  #: of the target
    values: Floats


class Mesh(Protocol):
    """What computes on the mesh: GPUs with a box each."""

    gpus: int

    def step(self, messages: Sequence[Message], kernels_ns: Mapping[int, float]) -> list[Floats]:
        """Delivers messages, then executes each GPU's kernels. Returns what these see of the messages, in the same order."""

    def total(self, records: Sequence[Floats], to_gpus: bool) -> NDArray[np.floating]:
        """Sums by field the records (boxes x cells x fields) of each GPU's boxes of the finest division, those with the
        numbers g, g + gpus, ... All processors receive the sums, or all GPUs."""


@dataclass
class Times:
    """Simulated time by purpose, in us."""

    computation: float = 0
    puts: float = 0
    reductions: float = 0

    @property
    def total(self) -> float:
        return self.computation + self.puts + self.reductions

    @property
    def share(self) -> float:
        """Part of the time that is communication."""
        return (self.puts + self.reductions) / self.total


class Nodes(ABC):
    """The first `ranks` nodes of a cluster. Raises InputError."""

    def __init__(self, ranks: int, cluster: str = "peach2") -> None:
        if ranks not in RANKS:
            raise InputError(f"{ranks} ranks; they are 1, 2, 4, 8 or 16, which share the mesh evenly")
        self.hubs = Hubs(cluster)
        if ranks > len(self.hubs.nodes):
            raise InputError(f"{ranks} ranks; {cluster} has {len(self.hubs.nodes)} nodes")
        self.nodes = self.hubs.nodes[:ranks]
        self.gpus = 2 * ranks
        self.times = Times()
        self._sequence = 0

    def step(self, messages: Sequence[Message], kernels_ns: Mapping[int, float]) -> list[Floats]:
        self._sequence += 1
        for message in messages:
            if message.values.nbytes > SLOT:
                raise InputError(f"{message.values.nbytes} bytes of optical depths for a GPU; the maximum is {SLOT}")
            self._gpu(message.source).write(OUT + message.side * SLOT, message.values)
        operations: list[Operation] = []
        kernels: list[tuple[list[Message], Kernel]] = []
        for rank, node in enumerate(self.nodes):
            operations += self._send(node, [each for each in messages if self._rank(each.source) == rank])
            incoming = [each for each in messages if self._rank(each.target) == rank]
            operations += self._receive(node, incoming)
            if own := [ns for gpu, ns in kernels_ns.items() if self._rank(gpu) == rank]:
                kernel = node.kernel(max(own), [self._arrival(message) for message in incoming])
                kernels.append((incoming, kernel))
        span = self._run([*operations, *(kernel for _, kernel in kernels)])
        longest = max(kernel.time_us for _, kernel in kernels)
        self.times.computation += longest
        self.times.puts += span - longest
        seen = {message[:3]: data for own, kernel in kernels for message, data in zip(own, kernel.seen, strict=True)}
        return [seen[message[:3]].view(np.float32) for message in messages]

    def total(self, records: Sequence[Floats], to_gpus: bool) -> Floats:
        self._sequence += 1
        for gpu, own in enumerate(records):
            self._gpu(gpu).write(RECORDS, own)
        self.times.reductions += self._sum(records[0].shape[1], to_gpus)
        if to_gpus:
            kernels = [node.kernel(0, [(gpu.address(RESULT), RECORD) for gpu in node.gpus]) for node in self.nodes]
            self.hubs.run()
            results = [seen.view(np.float32) for kernel in kernels for seen in kernel.seen]
        else:
            results = [node.processor.read(RESULT, FIELDS, np.float32) for node in self.nodes]
        if any(result.tobytes() != results[0].tobytes() for result in results):
            raise CheckFailed("nodes have different sums")
        return results[0]

    @abstractmethod
    def _send(self, node: Node, messages: Sequence[Message]) -> list[Operation]:
        """Adds the operations of a node that send messages."""

    @abstractmethod
    def _receive(self, node: Node, messages: Sequence[Message]) -> list[Operation]:
        """Adds the operations of a node that wait for messages."""

    @abstractmethod
    def _sum(self, cells: int, to_gpus: bool) -> float:
        """Sums the records in all GPUs, `cells` in each box. Returns the time in us."""

    def _run(self, operations: Sequence[Operation]) -> float:
        """Executes all operations; returns their span in us."""
        self.hubs.run()
        return max(each.end_us for each in operations) - min(each.begin_us for each in operations)

    def _rank(self, gpu: int) -> int:
        return gpu % len(self.nodes)

    def _gpu(self, gpu: int) -> Memory:
        return self.nodes[self._rank(gpu)].gpus[gpu // len(self.nodes)]

    def _processor(self, gpu: int) -> Memory:
        return self.nodes[self._rank(gpu)].processor

    def _arrival(self, message: Message) -> tuple[int, int]:
        """Address and size of a message in the target's memory."""
        return self._gpu(message.target).address(IN + message.side * SLOT), message.values.nbytes

    def _flag(self, message: Message) -> int:
        """Place of a message's flag in the target's processor memory."""
        return FLAGS + 4 * self._slot(message)

    def _slot(self, message: Message) -> int:
        return message.target // len(self.nodes) * SIDES + message.side

    @abstractmethod
    def _ends(self, message: Message) -> tuple[int, int]:
        """Addresses to which and from which a message is put."""

    def _put(self, node: Node, messages: Sequence[Message]) -> list[Operation]:
        """Puts messages, each followed by its flag."""
        if not messages:
            return []
        copies = []
        for message in messages:
            flag = self._processor(message.target).address(self._flag(message))
            copies.append((*self._ends(message), message.values.nbytes))
            copies.append((flag, node.processor.address(SENT_FLAG), 4))
        ready = node.store(node.processor.address(SENT_FLAG), np.uint32(self._sequence))
        return [ready, node.chain(copies, wait=False)]


class HubNodes(Nodes):
    def __init__(self, ranks: int, cluster: str = "peach2") -> None:
        super().__init__(ranks, cluster)
        # Leaders combine eight nodes each, and the root their sums: all even ranks, then all odd ones
        order = range(ranks) if ranks < 16 else [*range(0, ranks, 2), *range(1, ranks, 2)]
        self.group = self.hubs.group(list(order), RESULT, memories=(0, 1, 2))
        self.hubs.run()

    def _send(self, node: Node, messages: Sequence[Message]) -> list[Operation]:
        return self._put(node, messages)

    def _ends(self, message: Message) -> tuple[int, int]:
        return self._arrival(message)[0], self._gpu(message.source).address(OUT + message.side * SLOT)

    def _receive(self, node: Node, messages: Sequence[Message]) -> list[Operation]:
        waits = [node.wait_for(self._flag(message), self._sequence) for message in messages]
        # The flag goes to the processor's memory, and tells nothing of what a GPU sees.
        targets = sorted({message.target for message in messages})
        return waits + [node.flush(self._gpu(target)) for target in targets]

    def _sum(self, cells: int, to_gpus: bool) -> float:
        operations = []
        for rank, node in enumerate(self.nodes):
            parts = [self._part(part, cells * RECORD) for part in range(rank, PARTS, len(self.nodes))]
            sources = parts[0]
            if len(parts) > 1:
                of_part = Reduction(context=3)  # the group uses the others
                operations += [
                    node.reduce(node.processor.address(SUMS + own * RECORD), part, of_part)
                    for own, part in enumerate(parts)
                ]
                sources = [(node.processor.address(SUMS), len(parts) * RECORD)]
            operations.append(self.group.reduce(rank, sources))
            if to_gpus:
                operations += [node.flush(gpu) for gpu in node.gpus]
        return self._run(operations)

    def _part(self, part: int, size: int) -> list[tuple[int, int]]:
        """Addresses and sizes of a part's records: its two boxes."""
        return [
            (self._gpu(box % self.gpus).address(RECORDS + box // self.gpus * size), size)
            for box in (part, part + PARTS)
        ]


class ProcessorNodes(Nodes):
    def _send(self, node: Node, messages: Sequence[Message]) -> list[Operation]:
        copies = []
        for message in messages:
            inside = self._rank(message.target) == node.number
            place = self._landing(message) if inside else self._staged(message)
            source = self._gpu(message.source)
            copies.append(node.copy(node.processor, place, source, OUT + message.side * SLOT, message.values.nbytes))
        return copies + self._put(node, [each for each in messages if self._rank(each.target) != node.number])

    def _ends(self, message: Message) -> tuple[int, int]:
        to, source = self._processor(message.target), self._processor(message.source)
        return to.address(self._landing(message)), source.address(self._staged(message))

    def _staged(self, message: Message) -> int:
        """Place of a message in the source's processor memory."""
        return STAGED + (2 * SIDES + message.source // len(self.nodes) * SIDES + message.side) * SLOT

    def _landing(self, message: Message) -> int:
        """The same in the target's."""
        return STAGED + self._slot(message) * SLOT

    def _receive(self, node: Node, messages: Sequence[Message]) -> list[Operation]:
        operations = []
        for message in messages:
            if self._rank(message.source) != node.number:
                operations.append(node.wait_for(self._flag(message), self._sequence))
            place, size = IN + message.side * SLOT, message.values.nbytes
            operations.append(node.copy(self._gpu(message.target), place, node.processor, self._landing(message), size))
        return operations

    def _sum(self, cells: int, to_gpus: bool) -> float:
        ranks, rate = len(self.nodes), self.hubs.cluster.node.sum_gb
        boxes = MAX_BOXES // self.gpus
        size = boxes * cells * RECORD
        operations = []
        for node in self.nodes:
            operations += [
                node.copy(node.processor, gpu * size, memory, RECORDS, size) for gpu, memory in enumerate(node.gpus)
            ]
            operations.append(node.work(2 * size / rate))
        time = self._run(operations)

        operations = []
        root = self.nodes[0].processor
        for rank, node in enumerate(self.nodes):
            own = node.processor.read(0, 2 * boxes * cells * FIELDS, np.float32).reshape(2 * boxes, cells * FIELDS)
            record = halved(np.stack([folded(part.reshape(-1, FIELDS)) for part in self._parts(own)]))
            operations.append(node.store(root.address(SUMS + 2 * RECORD * rank), self._flagged(record)))
        operations += [
            self.nodes[0].wait_for(SUMS + 2 * RECORD * rank + RECORD, self._sequence) for rank in range(ranks)
        ]
        operations.append(self.nodes[0].work(ranks * RECORD / rate))
        time += self._run(operations)

        sums = root.read(SUMS, 2 * FIELDS * ranks, np.float32).reshape(ranks, 2, FIELDS)[:, 0]
        record = halved(sums)
        operations = [self.nodes[0].store(node.processor.address(RESULT), self._flagged(record)) for node in self.nodes]
        for node in self.nodes:
            operations.append(node.wait_for(RESULT + RECORD, self._sequence))
            if to_gpus:
                operations += [node.copy(gpu, RESULT, node.processor, RESULT, RECORD) for gpu in node.gpus]
        return time + self._run(operations)

    def _parts(self, boxes: Floats) -> list[Floats]:
        """The records of each of a node's parts, from those of its two GPUs' boxes."""
        each = len(boxes) // 2
        ranks = len(self.nodes)
        parts = []
        for part in range(0, PARTS, ranks):  # those of rank 0: others have the same places
            places = [box % self.gpus // ranks * each + box // self.gpus for box in (part, part + PARTS)]
            parts.append(np.concatenate([boxes[place] for place in places]))
        return parts

    def _flagged(self, record: Floats) -> NDArray[np.uint32]:
        return np.append(record.view(np.uint32), np.uint32(self._sequence))


def halved(records: Floats) -> Floats:
    """Combines records, upper half with lower half, until one is left."""
    while len(records) > 1:
        records = records[: len(records) // 2] + records[len(records) // 2 :]
    return np.asarray(records[0])


def folded(records: Floats) -> Floats:
    """Sum of records in a calculator's order: in turn into eight partial sums, which are combined by halves."""
    sums = records[:FIELDS].copy()
    for first in range(len(sums), len(records), len(sums)):
        part = records[first : first + len(sums)]
        sums[: len(part)] += part
    return halved(sums)


class Alone:
    """One processor without simulated time: sums in double precision."""

    gpus = 1

    def step(self, messages: Sequence[Message], kernels_ns: Mapping[int, float]) -> list[Floats]:
        return [message.values for message in messages]

    def total(self, records: Sequence[Floats], to_gpus: bool) -> NDArray[np.float64]:
        return np.asarray(np.concatenate(records).sum(axis=(0, 1), dtype=np.float64))


WAYS: dict[str, type[Nodes]] = {"hub": HubNodes, "processor": ProcessorNodes}
