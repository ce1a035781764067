# SPDX-License-Identifier: Apache-2.0
"""Gather, scatter and allgather between FPGA memories, executed by the servers stage by stage (section 5.1 of the paper)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from thalweg.systems.vcsn import _sim, hosts
from thalweg.systems.vcsn.circuit_file import Circuits
from thalweg.systems.vcsn.cluster import WORD, Cluster
from thalweg.systems.vcsn.hosts import Step
from thalweg.systems.vcsn.network import Network
from thalweg.systems.vcsn.schedules import Schedule

Segments = list[tuple[int, int]]


def random_block(seed: int, block: int, size: int) -> bytes:
    """Returns the random data of a block."""
    return np.random.default_rng([seed, block]).bytes(size)


def whole_words(size: int) -> int:
    """Rounds a number of bytes up to whole words of 64."""
    return -(-size // WORD) * WORD


@dataclass
class Collective:
    """A gather, scatter or allgather on a cluster, with random data.

    Parameters
    ----------
    cluster : Cluster
        Cluster of kind VCSN or DCN.
    schedule : Schedule
        Transfers of each stage (`gather_schedule`).
    size : int
        Bytes of each block.
    seed : int, optional
        Seed of the data.
    late : bool, optional
        Barriers include their average delay after work.
    pcap : str, optional
        File to which all frames are written (pcapng).
    divided : Circuits, optional
        Partitions of the network.
    """

    cluster: Cluster
    schedule: Schedule
    size: int
    seed: int = 1
    late: bool = False
    pcap: str = ""
    divided: Circuits | None = None  #: creates the partitions of the network

    @property
    def stages(self) -> int:
        """Number of stages."""
        return len(self.schedule.stages)

    @property
    def most_bytes(self) -> int:
        """Maximum number of bytes in a memory bank."""
        return self.layout.most_bytes

    @property
    def padded(self) -> int:
        """Distance of blocks in memory, in bytes."""
        return whole_words(self.size)

    def data(self, block: int) -> bytes:
        """Returns the data of a block."""
        return random_block(self.seed, block, self.size)

    @cached_property
    def layout(self) -> _sim.Collective:
        """Locations of the blocks in memory."""
        return _sim.Collective(self.cluster.front, self.schedule, self.size)

    def run(self) -> tuple[Network, float, bool]:
        """Executes the collective.

        Returns
        -------
        network : Network
        time_us : float
            Duration in us.
        right : bool
            Whether all blocks have arrived unchanged.

        Raises
        ------
        FabricStopped
            The collective does not complete.
        """
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
        """Final addresses of the blocks, by (node, block)."""
        return self.layout.ends

    def simulate(self, network: Network) -> float:
        """Runs the programs; returns the time in us. Raises FabricStopped."""
        taking_part = {self.cluster.server_of(node) for node in self.schedule.nodes}
        servers = {server: table for server, table in self.cluster.server_tables.items() if server in taking_part}
        return hosts.run(network, servers, lambda server: self.program(network, server), self.late)

    def program(self, network: Network, server: int) -> Iterator[Step]:
        """Returns the program of a server for its FPGAs."""
        return self.layout.program(network, server)
