# SPDX-License-Identifier: Apache-2.0
"""Allgather as a gather followed by a multicast of the gathered blocks (section 5.3 of the paper).

Multicast frames follow a tree of switches, so that it also works on a fat tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from thalweg.systems.vcsn._sim import READS, SEGMENTS, VirtualPort
from thalweg.systems.vcsn.cluster import Server
from thalweg.systems.vcsn.collectives import Collective, Segments
from thalweg.systems.vcsn.hosts import Barrier, Interrupt, Program, Work
from thalweg.systems.vcsn.network import Network

WRITES = 1 << 31  #: handles of multicast writes start here


class BroadcastAllgather(Collective):
    """An allgather by multicast. The schedule is a gather's; each external port of the root multicasts the blocks that it
    has received, the first one also the root's own."""

    @property
    def members(self) -> list[int]:
        return sorted(self.schedule.nodes - {self.schedule.root})

    @property
    def stages(self) -> int:
        return super().stages + 1

    @cached_property
    def shares(self) -> list[list[int]]:
        """The blocks that each external port of the root multicasts."""
        root = self.schedule.root
        gathered = sorted((at, block) for (node, block), at in self.layout.after.items() if node == root)
        bank = self.cluster.fpga(root).bank_bytes
        shares: list[list[int]] = [[] for _ in range(self.cluster.fpga(root).ports)]
        for at, block in gathered:
            shares[at // bank].append(block)
        shares[0].append(root)
        return shares

    @property
    def most_bytes(self) -> int:
        """Maximum number of bytes in a memory bank."""
        if self.layout.most_bytes > self.cluster.fpga(self.schedule.root).bank_bytes:
            return self.layout.most_bytes
        return self.layout.most_bytes + max(map(len, self.shares)) * self.padded

    def address(self, node: int, block: int) -> int:
        """Returns the final address of a block, behind the memory used by the gather."""
        root = self.schedule.root
        if node == root and block != root:
            return self.layout.after[root, block]
        port, place = next((port, share.index(block)) for port, share in enumerate(self.shares) if block in share)
        bank = port if node != root else self.cluster.fpga(root).ports % self.cluster.fpga(root).banks
        return bank * self.cluster.fpga(root).bank_bytes + self.layout.most_bytes + place * self.padded

    @property
    def ends(self) -> Mapping[tuple[int, int], int]:
        return {
            (node, block): self.address(node, block) for node in self.schedule.nodes for block in self.schedule.nodes
        }

    def segments(self, node: int, port: int) -> Segments:
        """Returns the segments of the blocks that a port multicasts.

        There is one per block or, if an engine holds fewer, one per run of adjacent blocks in a bank.
        """
        segments = [(self.address(node, block), self.padded) for block in self.shares[port]]
        if len(segments) > SEGMENTS:
            segments = _joined(segments, self.cluster.fpga(node).bank_bytes)
        at, size = segments.pop()
        return [*segments, (at, size - self.padded + self.size)]

    def simulate(self, network: Network) -> float:
        root = self.schedule.root
        network.store(root, self.address(root, root), self.data(root))
        for port, share in enumerate(self.shares):
            if share:
                network.group(VirtualPort(root, port, 0), [VirtualPort(node, port, 0) for node in self.members])
        return super().simulate(network)

    def program(self, network: Network, server: int) -> Program:
        yield from super().program(network, server)
        yield Barrier()
        root = self.schedule.root
        costs = self.cluster.server_tables[server]
        ports = [port for port, share in enumerate(self.shares) if share]
        own = [node for node in self.members if self.cluster.server_of(node) == server]
        has_root = self.cluster.server_of(root) == server
        yield from self._join(network, costs, own, ports, has_root)
        yield Barrier()
        writes: list[int] = []
        for node in own:
            for port in ports:
                yield Work(costs.start_us)
                writes.append(WRITES + node * len(self.shares) + port)
                network.write(writes[-1], node, port, self.segments(node, port))
        yield Barrier()
        if has_root:
            for port in ports:
                yield Work(costs.start_us)
                network.read(root, port, self.segments(root, port), handle=READS + WRITES + port)
        for handle in writes:
            yield Interrupt(handle)
        if has_root:
            for port in ports:
                yield Interrupt(READS + WRITES + port)

    def _join(self, network: Network, costs: Server, own: list[int], ports: list[int], has_root: bool) -> Program:
        """Writes the circuit table rows of the multicast, and sets the crossbars."""
        root = self.schedule.root
        for node in [*own, *[root] * has_root]:
            for port in ports:
                yield Work(costs.circuit_us)
                if node == root:
                    network.set_multicast(VirtualPort(root, port, 0), 0)
                else:
                    network.set_circuit(VirtualPort(node, port, 0), VirtualPort(root, port, 0))
        yield Work(costs.crossbar_us)
        for node in [*own, *[root] * has_root]:
            for output in range(network.place(node, 0, 0) + network.virtual_ports(node)):
                network.connect(node, output, None)
            for port in ports:
                place = network.place(node, port, 0)
                network.connect(node, *((place, port) if node == root else (port, place)))


def _joined(segments: Segments, bank: int) -> Segments:
    joined = segments[:1]
    for at, size in segments[1:]:
        begin, before = joined[-1]
        if at == begin + before and at % bank:
            joined[-1] = (begin, before + size)
        else:
            joined.append((at, size))
    return joined
