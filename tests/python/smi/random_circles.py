# SPDX-License-Identifier: Apache-2.0
"""Random programs of SMI with a wait-for cycle of kernels in otherwise correct traffic."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from random_programs import COLLECTIVE, COLLECTIVES, KERNELS, PAUSE, POP, PUSH, READ, WRITE, Kernel, Port, Program


@dataclass(frozen=True)
class Waits:
    """A kernel of a wait-for cycle."""

    rank: int
    kernel: str
    what: str


def circle_of(lines: Sequence[str]) -> list[Waits]:
    """The wait-for cycle in a report; waits without the counts of received elements."""
    found = []
    for line in lines[lines.index("  wait-for cycle:") + 1 :]:
        match = re.match(
            r"    kernel (\w+) of rank (\d+) has waited since cycle \d+ to (.*?)(?:, element .*|, for .*|; .*| \(.*)$",
            line,
        )
        assert match, line
        found.append(Waits(int(match[2]), match[1], match[3]))
    return found


@dataclass(frozen=True)
class Edge:
    """An edge of a wait-for cycle: what is waited for; and the steps that open the channels, block the one kernel, and
    let the other one resolve the wait."""

    what: str
    opens: Callable[[], None]
    waits: Callable[[], None]
    ends: Callable[[], None]


class Deadlocked(Program):
    """A program with a wait-for cycle."""

    def add_circle(self, length: int) -> list[Waits]:
        """Adds a cycle of `length` kernels, or fewer if there is no room, each of which waits for the next one. Returns
        the waits. All earlier transactions have ended when the waits begin."""
        shared = [kernel for kernel in self.kernels.values() if not kernel.alone]
        self.draw.shuffle(shared)
        kernels = shared[:length]
        while len(kernels) < length and (free := [rank for rank in range(self.ranks) if len(self.of(rank)) < KERNELS]):
            kernels.append(self.add_kernel(self.draw.choice(free)))
        pairs = list(zip(kernels, kernels[1:] + kernels[:1], strict=True))
        busy = list(kernels)
        edges = [self.edge(waits, other, busy) for waits, other in pairs]
        there_and_back = 2 * self.cluster.topology.nodes * (self.cluster.link.latency_ns * self.cluster.mhz / 1e3 + 60)
        elements_before = sum(len(gets) for kernel in self.kernels.values() for gets in kernel.gets)
        pause = 20_000 + int(there_and_back * elements_before)  # each with a credit of its own, in the worst case
        for kernel in kernels:
            kernel.step(PAUSE, count=pause)
        for edge in edges:
            edge.opens()
        for edge in edges:
            edge.waits()
        for edge in edges:
            edge.ends()
        return [Waits(kernel.rank, kernel.name, edge.what) for kernel, edge in zip(kernels, edges, strict=True)]

    def edge(self, waits: Kernel, other: Kernel, busy: list[Kernel]) -> Edge:
        ways = [self.pop_edge, self.push_edge]
        pipes = [number for number in range(4) if (waits.rank, number, "write") not in self.pipes]
        if waits.rank != other.rank:
            ways.append(lambda a, b: self.collective_edge(a, b, busy))
        elif waits is not other and pipes:
            ways.append(lambda a, b: self.pipe_edge(a, b, self.draw.choice(pipes)))
        return self.draw.choice(ways)(waits, other)

    def is_known(self, kernel: Kernel, *others: Kernel) -> bool:
        """True if the kernel may leave its port unopened, as it is the only one that can still open it."""
        if {id(each) for each in self.of(kernel.rank)} != {
            id(each) for each in (kernel, *others)
        } or self.draw.random() < 0.5:
            return False
        self.closed.add(kernel.rank)
        return True

    def fill(self, port: Port, sender: Kernel, receiver: Kernel) -> None:
        """Fills the port, so that later messages have no room there."""
        self.users[sender.rank, port.number, "push"] = sender
        self.users[receiver.rank, port.number, "pop"] = receiver
        self.sources[receiver.rank, port.number] = sender.rank
        self.reserved[receiver.rank, port.number] = port.buffer

    def pop_edge(self, waits: Kernel, other: Kernel) -> Edge:
        """From a message that is not pushed, or only in part: elements that do not fill a packet have not been sent."""
        port = self.add_port("message")
        self.fill(port, other, waits)
        most = self.per_packet(port.type)
        before = self.draw.choice(
            (0, self.draw.randrange(most), self.draw.randint(0, port.buffer) * most + self.draw.randrange(most))
        )
        rest, seed = self.draw.randint(1, 100), self.seed()
        late = before == 0 and self.is_known(other)
        slots = [-1, -1]

        def open_sender() -> None:
            slots[0] = self.open(other, port, "push", before + rest, waits.rank, 1 << 20, early=False if late else None)

        if not late:
            open_sender()
        if before:
            other.step(PUSH, slot=slots[0], count=before, seed=seed)

        def opens() -> None:
            slots[1] = self.open(waits, port, "pop", before + rest, other.rank, 1 << 20)

        def ends() -> None:
            if late:
                open_sender()
            other.step(PUSH, slot=slots[0], count=rest, start=before, seed=seed)

        return Edge(f"pop from rank {other.rank}, port {port.number}", opens, lambda: waits.step(POP, slot=slots[1], count=before + rest), ends)  # fmt: skip

    def push_edge(self, waits: Kernel, other: Kernel) -> Edge:
        """Into a message that is larger than all buffers on its path, or than its window."""
        port, node = self.add_port("message"), self.cluster.node
        self.fill(port, waits, other)
        port.type = self.draw.randint(1, 3)
        most, seed = self.per_packet(port.type), self.seed()
        if node.protocol == "eager" or self.draw.random() < 0.3:
            of_a_rank = node.link_buffer + node.links * 2 * node.depth + 30
            count, degree = most * (self.cluster.topology.nodes * of_a_rank + port.buffer), 1 << 20
            if node.protocol == "degree":
                degree = count
        else:
            degree = self.draw.randrange(most * port.buffer)
            count = degree + 10 * most + self.draw.randrange(100)
        late = self.is_known(other)
        slots = [-1, -1]

        def open_receiver() -> None:
            slots[1] = self.open(other, port, "pop", count, waits.rank, degree, early=False if late else None)

        def opens() -> None:
            slots[0] = self.open(waits, port, "push", count, other.rank, degree)
            if not late:
                open_receiver()

        def ends() -> None:
            if late:
                open_receiver()
            other.step(POP, slot=slots[1], count=count)

        return Edge(f"push to rank {other.rank}, port {port.number}", opens, lambda: waits.step(PUSH, slot=slots[0], count=count, seed=seed), ends)  # fmt: skip

    def collective_edge(self, waits: Kernel, other: Kernel, busy: list[Kernel]) -> Edge:
        """From a collective that all others have opened; none of them takes part in two."""
        port, node = self.add_port(self.draw.choice(COLLECTIVES)), self.cluster.node
        ranks = self.communicator()
        if waits.rank not in ranks or other.rank not in ranks:
            ranks = [waits.rank, other.rank]
        members = {waits.rank: waits, other.rank: other}
        for rank in set(ranks) - set(members):
            free = [kernel for kernel in self.of(rank) if not kernel.alone and all(kernel is not each for each in busy)]
            if free:
                members[rank] = self.draw.choice(free)
            elif len(self.of(rank)) < KERNELS and rank not in self.closed:
                members[rank] = self.add_kernel(rank)
            else:
                ranks = [waits.rank, other.rank]
        busy += [members[rank] for rank in ranks]
        for rank in ranks:
            self.users[rank, port.number, port.kind] = members[rank]
        root = self.draw.choice((waits.rank, other.rank))
        if port.kind in ("broadcast", "reduce"):
            root = self.draw.choice(ranks)
        count = 4 * node.tile + 30 * self.per_packet(port.type)
        comm = {"first": ranks[0], "stride": ranks[1] - ranks[0], "size": len(ranks)}
        late, slots = self.is_known(other), {}

        def open_at(rank: int, early: bool | None = None) -> None:
            slots[rank] = self.open(members[rank], port, port.kind, count, ranks.index(root), -1, early, **comm)

        def use(rank: int) -> None:
            calls = count * len(ranks) if port.kind in ("scatter", "gather") and rank == root else count
            members[rank].step(COLLECTIVE, slot=slots[rank], count=calls, seed=self.seed())

        def opens() -> None:
            for rank in ranks:
                if rank != other.rank or not late:
                    open_at(rank)
                if rank not in (waits.rank, other.rank):
                    use(rank)

        def ends() -> None:
            if late:
                open_at(other.rank, early=False)
            use(other.rank)

        return Edge(f"{port.kind}, port {port.number}", opens, lambda: use(waits.rank), ends)

    def pipe_edge(self, waits: Kernel, other: Kernel, number: int) -> Edge:
        reads = self.draw.random() < 0.5
        reader, writer = (waits, other) if reads else (other, waits)
        self.pipes[waits.rank, number, "write"], self.pipes[waits.rank, number, "read"] = writer, reader
        if not self.is_known(other, waits):
            writer.step(WRITE, slot=number, count=1)
            reader.step(READ, slot=number, count=1)
        what = f"{'read from' if reads else 'write into'} channel pipes[{number}] of rank {waits.rank}"
        steps = (READ, WRITE) if reads else (WRITE, READ)
        return Edge(what, lambda: None, lambda: waits.step(steps[0], slot=number, count=100), lambda: other.step(steps[1], slot=number, count=100))  # fmt: skip
