# SPDX-License-Identifier: Apache-2.0
"""The flow on FPGAs in a ring. The lattice streams from the first FPGA's memory through the kernels of all FPGAs and
back, and each kernel computes one or several time steps.

This is temporal parallelism as in K. Sano's stream processors for the lattice-Boltzmann method (K. Sano, S. Yamamoto,
IEEE TPDS 28, 2017). A cell has nine populations and its kind, 40 bytes, so one word of 64 bytes per cycle is 1.6 cells.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass

import numpy as np
from d2q9 import EAST, NORTH, OUTLET, Flow, Kinds, Populations, collide
from thalweg.errors import CheckFailed, InputError
from thalweg.vcsn import (
    Cluster,
    Exchange,
    Interrupt,
    Kernel,
    Network,
    Pause,
    Program,
    Receive,
    Send,
    Topology,
    Words,
    Work,
    run,
)

WORD = 64
CELL = 40
"""Bytes: nine populations of float32 and the kind."""
DEPTH = 100
"""Cycles of a step's floating-point pipeline; an assumption, since the paper gives no number."""

Column = tuple[Populations, Kinds]
Actions = Generator[Send | Receive | Exchange | Pause, Words | None, None]


class Step:
    """A time step in a kernel. Holds three columns; a column leaves when the next one has arrived."""

    def __init__(self, flow: Flow) -> None:
        rows = flow.kinds.shape[1]
        self.flow = flow
        self.near = np.zeros((3, 9, rows), np.float32)  # next, current and previous column, after collision
        self.moved = self.near[0]
        self.kinds: Kinds | None = None
        velocity = np.arange(9)[:, None]
        self.sources = 1 + EAST.astype(int)[:, None], velocity, (np.arange(rows) - NORTH.astype(int)[:, None]) % rows

    def __call__(self, column: Column | None) -> Column | None:
        """Takes the next column, or None after the last one; returns the previous column after the step, if there is
        one."""
        self.near[0] = collide(self.flow, *column) if column else 0
        done = None
        if self.kinds is not None:
            moved = self.near[self.sources]
            done = np.where(self.kinds == OUTLET, self.moved, moved), self.kinds
            self.moved = moved
        self.near[1:] = self.near[:2].copy()
        self.kinds = column[1] if column else None
        return done


def packed(f: Populations, kinds: Kinds) -> bytes:
    """Packs cells one after another, each with its populations and kind."""
    cells = np.empty((*kinds.shape, CELL // 4), np.float32)
    cells[..., :9] = np.moveaxis(f, 0, -1)
    cells[..., 9] = kinds.view(np.float32)
    return cells.tobytes()


def unpacked(data: bytes, shape: tuple[int, ...]) -> tuple[Populations, Kinds]:
    cells = np.frombuffer(data, np.float32).reshape(*shape, CELL // 4)
    return np.moveaxis(cells[..., :9], -1, 0).copy(), cells[..., 9].copy().view(np.uint32)


def computes(flow: Flow, steps: int) -> Actions:
    """User logic for all passes of the lattice; sends a column while it receives the next one. Raises CheckFailed."""
    rows = flow.kinds.shape[1]
    wanted = Receive(rows * CELL // WORD)
    while True:
        chain = [Step(flow) for _ in range(steps)]
        leaving: list[Column] = []
        begins, ends = True, False
        while not ends:
            words = yield Exchange(Send(packed(*leaving[0]), ends=False), wanted) if leaving else wanted
            assert words is not None
            if len(words.data) != rows * CELL:
                raise CheckFailed(
                    "a column is not whole: while pipelines fill, a receive buffer has overflowed; it takes fewer steps"
                )
            ends = words.ends
            leaving = [unpacked(words.data, (rows,))]
            for step in chain:
                leaving = [done for column in leaving if (done := step(column))]
                if ends and (last := step(None)):
                    leaving.append(last)
            if leaving and begins:
                yield Pause(DEPTH * steps)
                begins = False
        yield Send(b"".join(packed(*column) for column in leaving))


@dataclass(frozen=True)
class Outcome:
    f: Populations
    steps: int
    us: float  #: of all passes, including the server's actions

    def mlups(self, flow: Flow) -> float:
        """Million cells updated in a second."""
        return flow.cells * self.steps / self.us


class Ring:
    """The first FPGAs of a cluster, each with a kernel that computes `steps` steps. Raises InputError."""

    def __init__(self, cluster: Cluster, fpgas: int, steps: int) -> None:
        if not 1 <= fpgas <= len(cluster.fpgas):
            raise InputError(f"{fpgas} FPGAs; {cluster.name} has {len(cluster.fpgas)}")
        self.nodes = cluster.fpgas[:fpgas]
        self.cluster = cluster.ring_of(fpgas) if cluster.is_direct and 1 < fpgas < len(cluster.fpgas) else cluster
        self.steps = steps
        server = self.cluster.server_of(self.nodes[0])
        if server is None:
            raise InputError(
                f"FPGA {self.nodes[0]} of {cluster.name} is in no server (kind vcsn-server), which would start its engines"
            )
        self.server = server

    def bound(self) -> float:
        """Upper bound of `Outcome.mlups`: one word per cycle in kernels, and the rate of Equations 1 and 2 of the paper
        on lines."""
        table = self.cluster.fpga(self.nodes[0])
        rates = [self.cluster.clocks[table.shell_clock].frequency_mhz * WORD, table.bank_gb * 1e3]
        if len(self.nodes) > 1:
            rates.append(self.cluster.payload_gb * 1e3)
        return len(self.nodes) * self.steps * min(rates) / CELL

    def _wire(self, network: Network) -> None:
        """Connects the first node's read engine through all kernels to its write engine."""
        edges = list(zip(self.nodes, [*self.nodes[1:], self.nodes[0]], strict=True))
        came, places = 0, []
        if len(self.nodes) > 1:
            if self.cluster.is_direct:
                for node, after in edges:
                    (_, _, out), (_, into, _) = self.cluster.way(node, after)
                    places.append((network.place(node, out, 0), network.place(after, into, 0)))
            else:
                circuits = Topology.graph(edges).circuits(self.cluster)
                network.rewire(circuits)
                places = [
                    (
                        network.place(one.node, one.port, one.virtual_port),
                        network.place(two.node, two.port, two.virtual_port),
                    )
                    for one, two in circuits
                ]
        for node, (out, into) in zip(self.nodes, places, strict=False):
            network.connect(node, network.kernel_place(node), came)
            network.connect(node, out, network.kernel_place(node))
            came = into
        first = self.nodes[0]
        if places:
            network.connect(first, 0, came)
        else:
            network.connect(first, network.kernel_place(first), 0)
            network.connect(first, 0, network.kernel_place(first))

    def run(self, flow: Flow, f: Populations, passes: int) -> Outcome:
        """Runs the passes. Raises CheckFailed if data was lost."""
        columns, rows = flow.kinds.shape
        size = flow.cells * CELL
        if rows * CELL % WORD:
            raise InputError(f"{rows} rows; a multiple of {WORD // math.gcd(CELL, WORD)} fills words of {WORD} bytes")
        network = self.cluster.network()
        self._wire(network)
        first = self.nodes[0]
        table = self.cluster.fpga(first)
        banks = [0, table.bank_bytes]
        network.store(first, 0, packed(f, flow.kinds))
        costs = self.cluster.server_tables[self.server]

        def passing(_: int) -> Program:
            for number in range(passes):
                source, target = banks[number % 2], banks[1 - number % 2]
                yield Work(costs.start_us)
                network.write(number, first, 0, [(target, size)])
                yield Work(costs.start_us)
                network.read(first, 0, [(source, size)])
                yield Interrupt(number)

        kernels = [Kernel(node, computes(flow, self.steps), serves=True) for node in self.nodes]
        us = run(network, {self.server: costs}, passing, kernels=kernels)
        if network.lost:
            raise CheckFailed(f"{self.cluster.name} lost data: {network.lost}")
        found, kinds = unpacked(network.load(first, banks[passes % 2], size), (columns, rows))
        if not np.array_equal(kinds, flow.kinds):
            raise CheckFailed("the kinds of cells have changed on their way")
        return Outcome(found, passes * len(self.nodes) * self.steps, us)
