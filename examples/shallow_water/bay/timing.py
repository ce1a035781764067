# SPDX-License-Identifier: Apache-2.0
"""The cycles that a step takes, from the partitions and the times of ACCL's engine: Equations 2 and 3 of the paper.

Equation 3 is in seconds, and Equation 2 compares it with elements, one a cycle: it is multiplied by the clock here. It adds up the times of all commands,
transfers and copies. The simulated engine works on a command while data move, so that only its processor's time for the commands is left to wait for.
"""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.accl import Server

from bay.boards import IN_A_WORD, PIPE, Design
from bay.partition import Cut

WAY_US = 2 * 0.25 + 2 * 0.015 + 1.0  #: of accl-u280-udp: the ports of two boards, two cables, the switch
MPI_US = 1.2  #: of noctua2-mpi: a short message from MPI to MPI
LINE_GB = 12.5
HARDWARE = 34, 6  #: cycles of a sequencer in hardware for a send or a recv


@dataclass(frozen=True)
class Model:
    """A step in cycles of a clock. `core`, `sent`, `received`: elements of the largest partition, and the most at a boundary. `communication`: L_comm;
    `commands`: the part of it that is the engine's processor's."""

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
        """L_comm in cycles, by Equation 2, of a step that took so many and in which the pipeline stalled."""
        return cycles - self.sent - self.received - PIPE

    @property
    def equation_2(self) -> float:
        """Its denominator. D_ext is 0: elements at the boundary pass the pipeline as others do."""
        return max(self.core, self.communication) + self.sent + self.received + PIPE

    @property
    def computed(self) -> int:
        """What a step takes without communication."""
        return self.core + self.sent + self.received + PIPE

    @property
    def overlapped(self) -> float:
        """The same where commands are worked on while elements are computed and data move."""
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
    # l_k is the cycles of the engine's processor for a send or a recv.
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
    """Two invocations, two copies over PCIe and MPI: L_comm where the hosts exchange the halo."""
    sizes = [12 * max(part.sent for part in cut.partitions), 12 * max(len(part.halo) for part in cut.partitions)]
    copies_us = sum(server.sync_us + 2 * server.host_ns / 1e3 + size / server.host_gb / 1e3 for size in sizes)
    return 2 * server.invocation_us + copies_us + MPI_US
