# SPDX-License-Identifier: Apache-2.0
"""Cycles per step, from the partitions and the times of ACCL's engine: Equations 2 and 3 of the paper.

Equation 3 is in seconds, while Equation 2 compares it with elements, one per cycle, so it is multiplied by the clock
here. It adds the times of all commands, transfers and copies. The simulated engine executes commands while data move,
so only its processor's time for the commands remains.
"""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.accl import Server

from bay.boards import IN_A_WORD, PIPE, Design
from bay.partition import Cut

WAY_US = 2 * 0.25 + 2 * 0.015 + 1.0  #: latency in accl-u280-udp: ports of two boards, two cables, the switch
MPI_US = 1.2  #: latency of a short MPI message in noctua2-mpi
LINE_GB = 12.5
HARDWARE = 34, 6  #: cycles of a hardware sequencer for a send or a recv


@dataclass(frozen=True)
class Model:
    """A step in cycles of a clock.

    `core`, `sent` and `received` are elements of the largest partition, and the maximum at a boundary. `communication`
    is L_comm; `commands` is the engine's processor's part of it.
    """

    clock_mhz: float
    core: int
    sent: int
    received: int
    communication: float
    commands: float

    @property
    def communication_us(self) -> float:
        """Equation 3."""
        return self.communication / self.clock_mhz

    def communication_of(self, cycles: float) -> float:
        """L_comm in cycles by Equation 2, from the cycles of a step in which the pipeline stalled."""
        return cycles - self.sent - self.received - PIPE

    @property
    def equation_2(self) -> float:
        """Denominator of Equation 2. D_ext is 0, as boundary elements pass the pipeline like others."""
        return max(self.core, self.communication) + self.sent + self.received + PIPE

    @property
    def computed(self) -> int:
        """Cycles of a step without communication."""
        return self.core + self.sent + self.received + PIPE

    @property
    def overlapped(self) -> float:
        """Cycles of a step if commands overlap with computation and data transfers."""
        return max(self.computed, self.commands)


def model(cut: Cut, design: Design) -> Model:
    parts = cut.partitions
    sent, received = max(part.boundary for part in parts), max(len(part.halo) for part in parts)
    core = max(len(part.elements) for part in parts) - sent
    if len(parts) == 1:
        return Model(design.clock_mhz, core, 0, 0, 0.0, 0.0)
    board = design.cluster.board(0)
    if isinstance(board, Server):
        return Model(design.clock_mhz, core, sent, received, _by_hosts_us(cut, board) * design.clock_mhz, 0.0)
    most, message = cut.most_neighbours, 64 * -(-cut.longest_message // IN_A_WORD)
    # l_k: cycles of the engine's processor for a send or a recv.
    hardware = design.sequencer == "hardware"
    to_send, to_receive = (sum(HARDWARE if hardware else board.processor[name]) for name in ("send", "recv"))
    copies_us = most * (board.memory_ns + message / board.memory_gb) / 1e3
    if design.halo == "reordered":
        to_receive, copies_us = 0, 0.0
    pingping_us = message / LINE_GB / 1e3 + WAY_US
    commands = most * (to_send + to_receive)
    latency = commands + to_send + (copies_us + pingping_us) * design.clock_mhz
    return Model(design.clock_mhz, core, sent, received, sent + received + latency, commands)


def _by_hosts_us(cut: Cut, server: Server) -> float:
    """L_comm if the hosts exchange the halo: two invocations, two copies over PCIe, and MPI."""
    sizes = [12 * max(part.sent for part in cut.partitions), 12 * max(len(part.halo) for part in cut.partitions)]
    copies_us = sum(server.sync_us + 2 * server.host_ns / 1e3 + size / server.host_gb / 1e3 for size in sizes)
    return 2 * server.invocation_us + copies_us + MPI_US
