# SPDX-License-Identifier: Apache-2.0
"""The cycles that a step takes, from the partitions and the times of ACCL's engine: Equations 2 and 3 of the paper.

Equation 3 is in seconds, and Equation 2 compares it with elements, one a cycle: it is multiplied by the clock here. It adds up the times of all commands,
transfers and copies. The simulated engine works on a command while data move, so that only its processor's time for the commands is left to wait for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bay.boards import HOSTS_US, IN_A_WORD, PIPE, Design
from bay.partition import Cut

WAY_US = 4 * 0.25 + 2 * 0.015 + 1.0  #: of accl-u280-udp: four ports, two cables, the switch
LINE_GB = 12.5


@dataclass(frozen=True)
class Model:
    """A step in cycles. `core`, `sent`, `received`: elements of the largest partition, and the most at a boundary. `communication`: L_comm;
    `commands`: the part of it that is the engine's processor's."""

    core: int
    sent: int
    received: int
    communication: float
    commands: float

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
        return Model(core, 0, 0, 0.0, 0.0)
    board = design.cluster.board(0)
    most, message = cut.most_neighbours, 64 * -(-cut.longest_message // IN_A_WORD)
    # l_k is the cycles of the engine's processor for a send or a recv.
    to_send, to_receive = (sum(board.processor[name]) for name in ("send", "recv"))
    copies_us = most * (board.memory_ns + message / board.memory_gb) / 1e3
    pingping_us = message / LINE_GB / 1e3 + WAY_US
    commands = most * (to_send + to_receive)
    latency = commands + to_send + (copies_us + pingping_us) * design.clock_mhz
    return Model(core, sent, received, sent + received + latency, commands)


def hosts_model(cut: Cut, design: Design) -> Model:
    """The same where the hosts exchange the halo: L_comm is what the paper has measured."""
    return replace(model(cut, design), communication=HOSTS_US * design.clock_mhz if len(cut.partitions) > 1 else 0.0)
