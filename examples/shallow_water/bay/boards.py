# SPDX-License-Identifier: Apache-2.0
"""The simulation on the boards of a cluster: a partition on each, its kernels, and what they have taken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from thalweg.accl import Cluster, Rank, run

from bay.board import MOST_STEPS, Board, ByEngine, ByHosts
from bay.model import Array, Parameters, scales
from bay.partition import Cut, tables

#: Of an exchange by hosts: kernel invocations, copies over PCIe, MPI over InfiniBand. The paper has measured 100 to 120 (section 4.3).
HOSTS_US = 110
PIPE = 328  #: kPipe of kernels.cpp
IN_A_WORD = 5  #: elements in 512 bits


@dataclass(frozen=True)
class Design:
    """Of the paper's table 1: the cluster whose boards it is for, clock of kernels and engine, and the elements that a board holds."""

    preset: str
    clock_mhz: float
    elements: int

    @property
    def cluster(self) -> Cluster:
        return Cluster.load(self.preset).replace(clock={"engine": {"frequency_mhz": self.clock_mhz}})


By = Literal["udp", "tcp", "hosts"]  #: who exchanges the halo: ACCL's engine over UDP or TCP, or the hosts by MPI
DESIGNS: dict[By, Design] = {
    "udp": Design("accl-u280-udp", 274, 8192),
    "tcp": Design("accl-u280-tcp", 252, 4096),
    "hosts": Design("accl-u280-udp", 256, 8192),
}


@dataclass
class Taken:
    """The cycles of a partition's element kernel: in all `steps`, those in which its pipeline stalled, and the most stalled cycles in one step."""

    steps: int = 0
    cycles: int = 0
    stalled: int = 0
    most_stalled: int = 0


@dataclass
class Result:
    """`states`: all elements after each of the requested steps. `taken`: the cycles of each partition, without loading and storing its elements."""

    states: list[Array]
    taken: list[Taken]
    time_us: float
    lost: list[tuple[int, str, int]] = field(default_factory=list)

    @property
    def cycles_a_step(self) -> float:
        """Of the slowest partition."""
        return max(each.cycles / each.steps for each in self.taken)

    @property
    def stalled_share(self) -> float:
        return sum(each.stalled for each in self.taken) / sum(each.cycles for each in self.taken)


def blocks(steps: int, every: int) -> list[int]:
    """Steps of each start of the kernels, so that there is a state each `every` steps."""
    size = min(every or steps, MOST_STEPS, steps)
    return [min(size, steps - first) for first in range(0, steps, size)]


def simulate(
    cut: Cut,
    parameters: Parameters,
    state: Array,
    steps: int,
    *,
    every: int = 0,
    by: By = "udp",
    tell: Callable[[int], None] = lambda steps: None,
) -> Result:
    """`steps` from a state on. `every`: steps between two of the states that are returned, from the first on (0: the last alone). `tell` is called
    with the number of steps that are done."""
    parts = cut.partitions
    scale = scales(cut.mesh, parameters)
    sizes = blocks(steps, every)
    states = [np.empty_like(state) for _ in sizes]
    mail: dict[tuple[int, int, int], Array] = {}

    def program(rank: Rank) -> Taken:
        part = parts[rank.rank]
        here = state[np.concatenate([part.elements, part.halo])]
        board = Board(rank, part, tables(cut.mesh, part, scale), parameters, here)
        exchanges = ByHosts(board, HOSTS_US, mail) if by == "hosts" else ByEngine(board)

        def compute(first: int, steps: int) -> int:
            element = board.compute(first, steps)
            exchanges.exchange(first, steps)
            element.wait()
            return int(element.cycles)

        empty = compute(0, 0)
        taken, first = Taken(), 0
        for number, size in enumerate(sizes):
            taken.cycles += compute(first, size) - empty
            first += size
            states[number][part.elements] = board.state
            taken.steps += size
            taken.stalled += board.stalls[0]
            taken.most_stalled = max(taken.most_stalled, board.stalls[1])
            if rank.rank == 0:
                tell(first)
        return taken

    message = 64 * -(-max(cut.longest_message, 1) // IN_A_WORD)
    result = run(
        program,
        ranks=len(parts),
        cluster=DESIGNS[by].cluster,
        buffers=2 * cut.most_neighbours + 2,  # a neighbour may be a step ahead
        buffer_bytes=max(message, 1024),
    )
    return Result([state, *states] if every else states[-1:], result.values, result.time_us, result.lost)
