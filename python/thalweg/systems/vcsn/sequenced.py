# SPDX-License-Identifier: Apache-2.0
"""A gather that sequencers in the FPGAs run without a host between its transfers (what section 6.4 of the paper leaves to do).

Each external port of the root has a sequencer. Sources wait for a word, which grants them the port: two at a time, one on each of two virtual ports.
While one's packet is drained to the memory, the other's comes into its receive buffer, as far as credits let it, and the circuit of the one before
is joined with the next source.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from thalweg.systems.vcsn import hosts
from thalweg.systems.vcsn._sim import AwaitWord, Connect, Place, Read, Row, SendWord, Write
from thalweg.systems.vcsn.cluster import Cluster
from thalweg.systems.vcsn.collectives import random_block, whole_words
from thalweg.systems.vcsn.hosts import Barrier, Interrupt, Program, Work
from thalweg.systems.vcsn.network import Command, Network

INSTRUCTIONS = 7  #: of a root's sequencer for each source: five grant, of which two write a row and its credits; two write to the memory
GRANTED = 2  #: sources that may send to an external port at once


@dataclass
class Sequenced:
    """A gather of blocks of `size` bytes, drawn from the seed, from `nodes` to `root`, which is one of them."""

    cluster: Cluster
    nodes: Sequence[int]
    root: int
    size: int
    seed: int = 1
    pcap: str = ""

    def data(self, block: int) -> bytes:
        return random_block(self.seed, block, self.size)

    @cached_property
    def sources(self) -> list[list[int]]:
        """Of each external port of the root."""
        ports = self.cluster.fpga(self.root).ports
        others = [node for node in self.nodes if node != self.root]
        return [others[port::ports] for port in range(ports)]

    @property
    def stages(self) -> int:
        """Transfers to an external port, one after another."""
        return max(map(len, self.sources))

    @property
    def most_bytes(self) -> int:
        """That a bank holds."""
        return self.stages * whole_words(self.size)

    def _address(self, port: int, index: int) -> int:
        """Of a block at the root: blocks of different external ports are in different banks."""
        return port * self.cluster.fpga(self.root).bank_bytes + index * whole_words(self.size)

    def run(self) -> tuple[Network, float, bool]:
        """The network afterwards, the time in us from the root's start to its last interrupt, and whether all blocks came as they were. Raises
        FabricStopped."""
        network = self.cluster.network(self.pcap)
        for sources in self.sources:
            for node in sources:
                network.store(node, 0, self.data(node))
        taking_part = {self.cluster.server_of(node) for node in self.nodes}
        servers = {server: table for server, table in self.cluster.server_tables.items() if server in taking_part}
        begun: list[int] = []
        hosts.run(network, servers, lambda server: self._program(network, server, begun))
        network.close()
        time = (network.now - begun[0]) / network.ticks_per_second * 1e6
        time += self.cluster.server_tables[self._server(self.root)].interrupt_us
        right = all(
            network.load(self.root, self._address(port, index), self.size) == self.data(node)
            for port, sources in enumerate(self.sources)
            for index, node in enumerate(sources)
        )
        return network, time, right

    def _server(self, node: int) -> int:
        server = self.cluster.server_of(node)
        assert server is not None
        return server

    def _program(self, network: Network, server: int, begun: list[int]) -> Program:
        """Programs are put into all FPGAs but the root, and when all are there, the root's begin."""
        for port, sources in enumerate(self.sources):
            for index, node in enumerate(sources):
                if self._server(node) == server:
                    yield Work(self.cluster.server_tables[server].start_us)
                    network.sequence((1 + node) << 8, node, 0, self.of_source(network, node, port, index))
        yield Barrier()
        if self._server(self.root) != server:
            return
        begun.append(network.now)
        yield Work(self.cluster.server_tables[server].start_us)
        for port, sources in enumerate(self.sources):
            if sources:
                network.sequence(port, self.root, port, self.of_root(network, port))
        for port, sources in enumerate(self.sources):
            if sources:
                yield Interrupt(port)

    def of_source(self, network: Network, node: int, port: int, index: int) -> list[Command]:
        """Waits for its grant, and sends its block."""
        comes = network.place(node, port, 0)
        own = network.sequencer_place(node, 0)
        return [
            Row(port, 0, Place(self.root, port, index % GRANTED), credits=True),
            Connect(own, comes),
            AwaitWord(),
            Connect(comes, 0),
            Read(0, [(0, self.size)]),
        ]

    def of_root(self, network: Network, port: int) -> list[Command]:
        """Joins circuits with sources, grants them the port in turn, and writes their blocks to the memory."""
        own = network.sequencer_place(self.root, port)
        sources = self.sources[port]

        def grant(index: int) -> list[Command]:
            virtual = index % GRANTED
            goes = network.place(self.root, port, virtual)
            return [
                Row(port, virtual, Place(sources[index], port, 0), credits=True),
                Connect(goes, own),
                SendWord(),
                Connect(goes, None),
            ]

        program = [command for index in range(min(GRANTED, len(sources))) for command in grant(index)]
        for index in range(len(sources)):
            comes = network.place(self.root, port, index % GRANTED)
            program += [Connect(port, comes), Write(port, [(self._address(port, index), self.size)])]
            if index + GRANTED < len(sources):
                program += grant(index + GRANTED)
        return program
