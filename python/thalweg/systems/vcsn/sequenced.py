# SPDX-License-Identifier: Apache-2.0
"""A gather executed by sequencers in the FPGAs, without hosts between transfers (future work in section 6.4 of the paper).

Each external port of the root has a sequencer. Sources wait for a word that grants them the port, two at a time, on two
virtual ports. While the packet of one is written to memory, that of the other fills its receive buffer as far as
credits allow, and the previous circuit is switched to the next source.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from thalweg.systems.vcsn import hosts
from thalweg.systems.vcsn._sim import AwaitWord, Connect, Read, Row, SendWord, VirtualPort, Write
from thalweg.systems.vcsn.cluster import Cluster
from thalweg.systems.vcsn.collectives import random_block, whole_words
from thalweg.systems.vcsn.hosts import Barrier, Interrupt, Program, Work
from thalweg.systems.vcsn.network import Command, Network

INSTRUCTIONS = 7  #: instructions per source in a root's sequencer: five to grant (two write a row and its credits), two to write to memory
GRANTED = 2  #: number of sources that may send to an external port at once


@dataclass
class Sequenced:
    """A gather of blocks of `size` random bytes from `nodes` to `root`, which is one of them."""

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
        """Sources of each external port of the root."""
        ports = self.cluster.fpga(self.root).ports
        others = [node for node in self.nodes if node != self.root]
        return [others[port::ports] for port in range(ports)]

    @property
    def stages(self) -> int:
        """Number of consecutive transfers to an external port."""
        return max(map(len, self.sources))

    @property
    def most_bytes(self) -> int:
        """Maximum number of bytes in a memory bank."""
        return self.stages * whole_words(self.size)

    def _address(self, port: int, index: int) -> int:
        """Returns the address of a block at the root; blocks of different external ports are in different banks."""
        return port * self.cluster.fpga(self.root).bank_bytes + index * whole_words(self.size)

    def run(self) -> tuple[Network, float, bool]:
        """Returns the network, the time in us from the root's start to its last interrupt, and whether all blocks arrived
        unchanged.

        Raises FabricStopped.
        """
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
        """Loads programs into all FPGAs but the root; when all are loaded, starts the root's."""
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
        """Returns a source's program: wait for the grant, and send the block."""
        comes = network.place(node, port, 0)
        own = network.sequencer_place(node, 0)
        return [
            Row(port, 0, VirtualPort(self.root, port, index % GRANTED), credits=True),
            Connect(own, comes),
            AwaitWord(),
            Connect(comes, 0),
            Read(0, [(0, self.size)]),
        ]

    def of_root(self, network: Network, port: int) -> list[Command]:
        """Returns the root's program: switch circuits to sources, grant them the port in turn, and write their blocks to
        memory."""
        own = network.sequencer_place(self.root, port)
        sources = self.sources[port]

        def grant(index: int) -> list[Command]:
            virtual = index % GRANTED
            goes = network.place(self.root, port, virtual)
            return [
                Row(port, virtual, VirtualPort(sources[index], port, 0), credits=True),
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
