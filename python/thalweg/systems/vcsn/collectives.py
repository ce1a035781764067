# SPDX-License-Identifier: Apache-2.0
"""Gather, scatter and allgather between the memories of FPGAs, as the servers' programs run them, stage by stage (section 5.1 of the paper)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from thalweg.systems.vcsn import hosts
from thalweg.systems.vcsn._sim import Place
from thalweg.systems.vcsn.circuit_file import Circuits
from thalweg.systems.vcsn.cluster import WORD, Cluster, Server
from thalweg.systems.vcsn.hosts import Barrier, Interrupt, Program, Step, Work
from thalweg.systems.vcsn.network import Network
from thalweg.systems.vcsn.schedules import Move, Port, Schedule

Segments = list[tuple[int, int]]
READS = 1 << 32  #: handles of reads are so much above those of their writes


def random_block(seed: int, block: int, size: int) -> bytes:
    """The data of a block: `size` bytes."""
    return np.random.default_rng([seed, block]).integers(0, 256, size, np.uint8).tobytes()


def whole_words(size: int) -> int:
    """Bytes, rounded up to whole words of a stream."""
    return -(-size // WORD) * WORD


@dataclass(frozen=True)
class Placed:
    """A move with where its blocks are in both memories, and the engines that move them."""

    move: Move
    read: Segments
    write: Segments
    read_engine: int
    write_engine: int
    handle: int


@dataclass(frozen=True)
class Layout:
    """Where blocks lie: `before` and `after`, addresses by (node, block)."""

    stages: list[list[Placed]]
    before: Mapping[tuple[int, int], int]
    after: Mapping[tuple[int, int], int]
    most_bytes: int  #: that a bank holds


@dataclass
class Collective:
    """A schedule on a cluster: blocks of `size` bytes, drawn from the seed."""

    cluster: Cluster
    schedule: Schedule
    size: int
    seed: int = 1
    late: bool = False
    pcap: str = ""
    divided: Circuits | None = None  #: whose partitions the network has

    @property
    def stages(self) -> int:
        return len(self.schedule.stages)

    @property
    def most_bytes(self) -> int:
        """That a bank holds."""
        return self.layout.most_bytes

    @property
    def padded(self) -> int:
        """Bytes from a block to the next one in a memory."""
        return whole_words(self.size)

    def data(self, block: int) -> bytes:
        return random_block(self.seed, block, self.size)

    @cached_property
    def blocks(self) -> list[int]:
        return sorted({block for stage in self.schedule.stages for move in stage.moves for block in move.blocks})

    @cached_property
    def layout(self) -> Layout:
        """What the root sends or receives over different external ports lies in different banks, and so does what a node receives in one stage
        and sends in the next one, where there are enough: no bank is read and written at once, or twice. An allgather's nodes all do as the root,
        but for their own block, which both ports send."""
        root = self.schedule.root
        node = self.cluster.fpga(root)
        used: dict[tuple[int, int], int] = {}  # bytes of each node's banks
        now: dict[tuple[int, int], int] = {}  # addresses of nodes' blocks
        came: dict[int, int] = {}

        def put(at: int, bank: int, block: int) -> int:
            bank %= node.banks
            now[at, block] = bank * node.bank_bytes + used.get((at, bank), 0)
            used[at, bank] = used.get((at, bank), 0) + self.padded
            return now[at, block]

        for block in self.blocks:
            first = self._moves_of(block)[0]
            put(first.source, first.source_port[0] if first.source == root else 0, block)
        before = dict(now)
        stages: list[list[Placed]] = []
        for number, stage in enumerate(self.schedule.stages):
            placed: list[Placed] = []
            for move in stage.moves:
                read = [(now[move.source, block], self.padded) for block in move.blocks]
                bank = move.destination_port[0]
                if self.schedule.everywhere:
                    bank = 2 * bank + 1 - number % 2
                elif move.destination != root:
                    came[move.destination] = came.get(move.destination, 0) + 1
                    bank = 1 + came[move.destination] % max(1, min(2, node.banks - 1))
                write = [(put(move.destination, bank, block), self.padded) for block in move.blocks]
                read[-1], write[-1] = (read[-1][0], self.size), (write[-1][0], self.size)
                engine, other = (
                    port[0] if (at == root or self.schedule.everywhere) and not self.schedule.steps else 0
                    for at, port in ((move.source, move.source_port), (move.destination, move.destination_port))
                )
                placed.append(Placed(move, read, write, engine, other, sum(map(len, stages)) + len(placed)))
            stages.append(placed)
        return Layout(stages, before, now, max(used.values()))

    def _moves_of(self, block: int) -> list[Move]:
        return [move for stage in self.schedule.stages for move in stage.moves if block in move.blocks]

    def run(self) -> tuple[Network, float, bool]:
        """The network afterwards, the time in us, and whether all blocks are where they belong, as they were. Raises FabricStopped."""
        network = self.cluster.network(self.pcap)
        if self.divided:
            self.divided.divide(network)
        for (node, block), address in self.layout.before.items():
            network.store(node, address, self.data(block))
        time = self.simulate(network)
        network.close()
        ends = self.ends
        data = {block: self.data(block) for _, block in ends}
        right = all(network.load(node, at, self.size) == data[block] for (node, block), at in ends.items())
        return network, time, right

    @property
    def ends(self) -> Mapping[tuple[int, int], int]:
        """Where blocks are in the end: the addresses by (node, block)."""
        ends = [(self._moves_of(block)[-1].destination, block) for block in self.blocks]
        if self.schedule.everywhere:
            ends = [(node, block) for node in self.blocks for block in self.blocks]
        return {end: self.layout.after[end] for end in ends}

    def simulate(self, network: Network) -> float:
        """Runs the programs; the time in us. Raises FabricStopped."""
        taking_part = {self.cluster.server_of(node) for node in self.schedule.nodes}
        servers = {server: table for server, table in self.cluster.server_tables.items() if server in taking_part}
        return hosts.run(network, servers, lambda server: self.program(network, server), self.late)

    def program(self, network: Network, server: int) -> Program:
        """Of a server, for its FPGAs."""
        own = [node for node in self.cluster.fpgas if self.cluster.server_of(node) == server]
        costs = self.cluster.server_tables[server]
        stages = self.layout.stages
        if not self.cluster.is_direct:
            yield from self._wire(network, costs, own, 0)
            yield Barrier()
        yield from self._set(network, costs, own, stages[0])
        yield Barrier()
        for number, stage in enumerate(stages):
            for placed in stage:
                if placed.move.destination in own:
                    yield Work(costs.start_us)
                    network.write(placed.handle, placed.move.destination, placed.write_engine, placed.write)
            for placed in stage:
                if placed.move.source in own:
                    yield Work(costs.start_us)
                    network.read(placed.move.source, placed.read_engine, placed.read, handle=READS + placed.handle)
            for placed in stage:
                if placed.move.destination in own:
                    yield Interrupt(placed.handle)
                if placed.move.source in own:  # what has not left its engine would go by the next stage's crossbar
                    yield Interrupt(READS + placed.handle)
            if number + 1 < len(stages):
                again = self.schedule.sends_again(number + 1)
                if not again:
                    yield from self._wire(network, costs, own, number + 1)
                yield from self._set(network, costs, own, stages[number + 1], stage)
                yield Barrier()
                if again:  # what these ports have sent has arrived now
                    yield from self._wire(network, costs, own, number + 1)
                    yield Barrier()

    def _wire(self, network: Network, costs: Server, own: list[int], stage: int) -> Iterator[Step]:
        """Writes circuit tables: every row before the first stage, so that no earlier circuit remains, and before later stages the rows that
        change."""
        if self.cluster.is_direct:
            return
        peers: dict[tuple[int, Port], tuple[int, Port]] = {}
        for source, source_port, destination, destination_port in self.schedule.circuits[stage]:
            peers[source, source_port] = (destination, destination_port)
            peers[destination, destination_port] = (source, source_port)
        for node in own:
            table = self.cluster.fpga(node)
            for port in range(table.ports):
                for virtual in range(table.virtual_of_port):
                    peer = peers.get((node, (port, virtual)))
                    if peer is None and (stage > 0 or self.schedule.steps):
                        continue
                    yield Work(costs.circuit_us)
                    network.set_circuit(Place(node, port, virtual), Place(peer[0], *peer[1]) if peer else None)

    @staticmethod
    def _set(
        network: Network, costs: Server, own: list[int], stage: list[Placed], before: Sequence[Placed] = ()
    ) -> Iterator[Step]:
        """Sets the crossbars of a server's FPGAs: to this stage's moves, and to nothing else but what passes through in the stage before, which
        this server does not see the end of."""
        yield Work(costs.crossbar_us)
        passes = {
            (node, network.place(node, *leaves_by)) for placed in before for node, _, leaves_by in placed.move.passes
        }
        for node in own:
            for output in range(network.place(node, 0, 0) + network.virtual_ports(node)):
                if (node, output) not in passes:
                    network.connect(node, output, None)
        for placed in stage:
            move = placed.move
            if move.source in own:
                network.connect(move.source, network.place(move.source, *move.source_port), placed.read_engine)
            for node, comes, leaves_by in move.passes:
                if node in own:
                    network.connect(node, network.place(node, *leaves_by), network.place(node, *comes))
            if move.destination in own:
                network.connect(
                    move.destination, placed.write_engine, network.place(move.destination, *move.destination_port)
                )
