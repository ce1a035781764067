# SPDX-License-Identifier: Apache-2.0
"""The simulation on the boards of a cluster: their partitions and kernels, and the cycles of these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from thalweg.accl import Cluster, Rank, Server, run

from bay.board import MAX_STEPS, Board, ByEngine, ByHosts
from bay.model import Array, Parameters, scales
from bay.partition import Cut, tables

PIPE = 328  #: kPipe of kernels.cpp
IN_A_WORD = 5  #: elements per word of 512 bits


By = Literal["udp", "tcp", "hosts"]  #: exchange of the halo: by ACCL's engine over UDP or TCP, or by the hosts with MPI
Halo = Literal["buffered", "on-chip", "reordered"]
Step = Literal["nominal", "engine", "in-switch"]
Sequencer = Literal["processor", "hardware"]

#: Receive buffers in UltraRAM: a word of 64 bytes per cycle; address, memory and output registers take three cycles.
ON_CHIP_CYCLES = 3
SWITCHES = "mpi-fpga-torus-4x4x4"  #: smallest preset with at least 48 nodes
EAGER = 12_288  #: maximum bytes of an eager message of MPI, as in thalweg's b_eff


@dataclass(frozen=True)
class Design:
    """A design of the paper's table 1: preset of the boards, clock of kernels and engine, and maximum elements per board;
    and its changes.

    `halo`: messages use receive buffers in the board's memory, as in the paper, receive buffers on chip, or streams of
    kernels, which reorder them. `step`: time steps are nominal, or found by allreduces on the engines or in switches.
    `sequencer`: the engine's processor, or hardware.
    """

    preset: str
    clock_mhz: float
    elements: int
    halo: Halo = "buffered"
    step: Step = "nominal"
    sequencer: Sequencer = "processor"

    def changed(self, halo: Halo = "buffered", step: Step = "nominal", sequencer: Sequencer = "processor") -> Design:
        """Returns a changed design. Raises ValueError if hosts exchange the halo, as they have no engine."""
        if self.preset == "noctua2-mpi" and (halo, step, sequencer) != ("buffered", "nominal", "processor"):
            raise ValueError("halo, step and sequencer need boards with ACCL's engine, not hosts")
        return replace(self, halo=halo, step=step, sequencer=sequencer)

    @cached_property
    def cluster(self) -> Cluster:
        cluster = Cluster.load(self.preset).replace(clock={"engine": {"frequency_mhz": self.clock_mhz}})
        board = cluster.board(0)
        changed: dict[str, Any] = {}
        if self.halo == "on-chip":
            changed |= {"memory_ns": 1e3 * ON_CHIP_CYCLES / self.clock_mhz, "memory_gb": 64e-3 * self.clock_mhz}
        if self.sequencer == "hardware":
            changed["processor"] = {name: [0, 0] for name in board.processor}
        return cluster.replace(node={"board": changed}) if changed else cluster

    def cluster_of(self, boards: int) -> Cluster:
        """Returns a cluster with one server per board; the preset has one board in each of 16 servers."""
        cluster = self.cluster
        if boards <= len(cluster.boards):
            return cluster
        return cluster.replace(topology={"size": [boards], "radix": boards}, node={"switch": {"ports": boards}})


DESIGNS: Mapping[By, Design] = {
    "udp": Design("accl-u280-udp", 274, 8192),
    "tcp": Design("accl-u280-tcp", 252, 4096),
    "hosts": Design("noctua2-mpi", 256, 8192),
}


@dataclass
class Taken:
    """Cycles of a partition's element kernel: all `steps`, stalled cycles, and the maximum of stalled cycles in one step."""

    steps: int = 0
    cycles: int = 0
    stalled: int = 0
    most_stalled: int = 0


@dataclass
class Result:
    """Result of a simulation.

    `states` are all elements after each requested step; `taken` the cycles of each partition, without loading and
    storing its elements; `time` is simulated, in nominal steps.
    """

    states: list[Array]
    taken: list[Taken]
    time_us: float
    time: float
    lost: list[tuple[int, str, int]] = field(default_factory=list)

    @property
    def cycles_a_step(self) -> float:
        """Cycles per step of the slowest partition."""
        return max(each.cycles / each.steps for each in self.taken)

    @property
    def stalled_share(self) -> float:
        return sum(each.stalled for each in self.taken) / sum(each.cycles for each in self.taken)


def blocks(steps: int, every: int) -> list[int]:
    """Steps of each start of the kernels, such that states are known every `every` steps."""
    size = min(every or steps, MAX_STEPS, steps)
    return [min(size, steps - first) for first in range(0, steps, size)]


def simulate(
    cut: Cut,
    parameters: Parameters,
    state: Array,
    steps: int,
    *,
    every: int = 0,
    by: By | Design = "udp",
    tell: Callable[[int], None] = lambda steps: None,
) -> Result:
    """Simulates `steps` from a state on.

    `every` is the interval of returned states in steps, 0 for the last state only. `tell` is called with the number of
    completed steps.
    """
    design = by if isinstance(by, Design) else DESIGNS[by]
    parts = cut.partitions
    cluster = design.cluster_of(len(parts))
    server = cluster.board(0)
    scale = scales(cut.mesh, parameters)
    sizes = blocks(steps, every)
    states = [np.empty_like(state) for _ in sizes]
    adaptive = design.step != "nominal"
    time = 0.0

    def program(rank: Rank) -> Taken:
        nonlocal time
        part = parts[rank.rank]
        here = state[np.concatenate([part.elements, part.halo])]
        board = Board(rank, part, tables(cut.mesh, part, scale), parameters, here, adaptive)
        exchanges: ByHosts | ByEngine
        if isinstance(server, Server):
            exchanges = ByHosts(board, server)
        else:
            exchanges = ByEngine(board, cut.firsts(rank.rank), design.halo == "reordered")

        def compute(steps: int, loading: int = 0) -> int:
            element = board.compute(steps)
            if isinstance(server, Server):
                rank.pause(loading / design.clock_mhz)
            exchanges.exchange(steps)
            element.wait()
            return int(element.cycles)

        empty = compute(0)
        taken, done = Taken(), 0
        for number, size in enumerate(sizes):
            # Hosts start with the first step: elements are loaded, and storing each takes no cycle.
            taken.cycles += compute(size, max(empty - len(here), 0)) - empty
            done += size
            states[number][part.elements] = board.state
            taken.steps += size
            taken.stalled += board.stalls[0]
            taken.most_stalled = max(taken.most_stalled, board.stalls[1])
            if rank.rank == 0:
                time = board.time
                tell(done)
        return taken

    message = 64 * -(-max(cut.longest_message, 1) // IN_A_WORD)
    in_switch = SWITCHES if design.step == "in-switch" and len(parts) > 1 else None
    result = run(
        program,
        ranks=len(parts),
        cluster=cluster,
        in_switch=in_switch,
        # A neighbour may be a step ahead. A short allreduce sends directly from rank to rank if half of the buffers hold all ranks' blocks.
        buffers=2 * cut.most_neighbours + 2 + (2 * len(parts) if design.step == "engine" else 0),
        buffer_bytes=max(message, 1024),
        most_eager_bytes=max(message, EAGER) if isinstance(server, Server) else 0,
    )
    return Result([state, *states] if every else states[-1:], result.values, result.time_us, time, result.lost)
