# SPDX-License-Identifier: Apache-2.0
"""The simulation on the boards of a cluster: a partition on each, its kernels, and what they have taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from thalweg.accl import Cluster, Kernels, Rank, run

from bay.model import Array, Parameters, scales
from bay.partition import Cut, Partition, tables

SOURCE = Path(__file__).with_name("kernels.cpp")
CLOCK_MHZ = 274  #: of the design with UDP, table 1 of the paper
PIPE = 280  #: kPipe of kernels.cpp
MOST_STEPS = 16_384  #: of a start of the kernels
IN_A_WORD = 5  #: elements in 512 bits


def cluster() -> Cluster:
    """The paper's boards around a switch, with the clock of its design for engine and kernels."""
    return Cluster.load("accl-u280-udp").replace(clock={"engine": {"frequency_mhz": CLOCK_MHZ}})


@cache
def kernels() -> Kernels:
    """Compiled once in a process."""
    return Kernels(SOURCE)


@dataclass
class Taken:
    """By a partition: cycles of its element kernel for so many steps, of which the pipeline has stalled, and stalled at most in a step."""

    steps: int = 0
    cycles: int = 0
    stalled: int = 0
    most_stalled: int = 0


@dataclass
class Result:
    """`states`: those that were asked for, of all elements; `taken`: of each partition, without what loads and stores its elements."""

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
    on: Cluster | None = None,
    tell: Callable[[int], None] = lambda steps: None,
) -> Result:
    """`steps` from a state on. `every`: steps between two of the states that are returned, from the first on (0: the last alone). `tell` is called with the number of steps that
    are done."""
    parts = cut.partitions
    scale = scales(cut.mesh, parameters)
    sizes = blocks(steps, every)
    states = [np.empty_like(state) for _ in sizes]
    most = cut.most_neighbours

    def program(rank: Rank) -> Taken:
        part = parts[rank.rank]
        board = _Board(rank, kernels(), cut, part, scale, parameters, state)
        empty = board.run(0, 0).cycles
        taken, first = Taken(), 0
        for number, size in enumerate(sizes):
            element = board.run(first, size)
            first += size
            states[number][part.elements] = board.state
            taken.steps += size
            taken.cycles += element.cycles - empty
            taken.stalled += int(board.stalls.array[0])
            taken.most_stalled = max(taken.most_stalled, int(board.stalls.array[1]))
            if rank.rank == 0:
                tell(first)
        return taken

    message = 64 * -(-max(cut.longest_message, 1) // IN_A_WORD)
    result = run(
        program, ranks=len(parts), cluster=on or cluster(), buffers=2 * most + 2, buffer_bytes=max(message, 1024)
    )
    return Result([state, *states] if every else states[-1:], result.values, result.time_us, result.lost)


class _Board:
    """A rank's memory, and the streams between its kernels and its engine."""

    def __init__(
        self,
        rank: Rank,
        compiled: Kernels,
        cut: Cut,
        part: Partition,
        scale: Array,
        parameters: Parameters,
        state: Array,
    ) -> None:
        self._rank, self._kernels, self._part, self._parameters = rank, compiled, part, parameters
        made = tables(cut.mesh, part, scale)
        here = np.concatenate([part.elements, part.halo])
        received = np.array([len(each) for each in part.receives], np.int32)

        def buffer(values: Any) -> Any:
            flat = np.ascontiguousarray(values).ravel()
            return rank.create_buffer(flat if len(flat) else np.zeros(1, flat.dtype))

        self._geometry, self._links, self._state = buffer(made.geometry), buffer(made.links), buffer(state[here])
        self._sent, self._counts, self._received = buffer(made.sent), buffer(made.counts), buffer(received)
        self._ranks, self._tides = buffer(made.neighbours), rank.create_buffer(MOST_STEPS)
        self.stalls = rank.create_buffer(2, np.int32)
        self._port = rank.kernel_port(stream=9)
        self._own = rank.kernel_stream("boundary", depth=512), rank.kernel_stream("halo", depth=512)

    @property
    def state(self) -> Array:
        return np.asarray(self._state.array).reshape(-1, 3)[: len(self._part.elements)]

    def run(self, first: int, steps: int) -> Any:
        """Starts all kernels for so many steps, and waits for them. Returns the element kernel."""
        rank, part, port = self._rank, self._part, self._port
        to_others, from_others = self._own
        self._tides.array[:steps] = self._parameters.tide(first, steps)
        gravity, coriolis, friction = (float(each) for each in self._parameters.constants)
        count = {"neighbours": len(part.neighbours), "steps": steps}
        started: Sequence[Any] = [
            rank.start(
                self._kernels,
                "element",
                {
                    "geometry": self._geometry,
                    "links": self._links,
                    "tides": self._tides,
                    "state": self._state,
                    "stalls": self.stalls,
                    "elements": len(part.elements),
                    "boundary": part.boundary,
                    "halo": len(part.halo),
                    "steps": steps,
                    "gravity": gravity,
                    "coriolis": coriolis,
                    "friction": friction,
                    "to_others": to_others,
                    "from_others": from_others,
                },
            ),
            rank.start(
                self._kernels,
                "send_halo",
                {"sent": self._sent, "counts": self._counts, "boundary": part.boundary} | count,
                elements=to_others,
                data=port.data_in,
            ),
            rank.start(
                self._kernels,
                "receive_halo",
                {"counts": self._received, "data": port.data_out, "elements": from_others} | count,
            ),
            rank.start(
                self._kernels,
                "schedule",
                {"ranks": self._ranks, "sent": self._counts, "received": self._received} | count,
                communicator=rank.world.address,
                arithmetic=rank.arithmetic(np.float32),
                commands=port.commands,
                status=port.status,
            ),
        ]
        for each in started:
            each.wait()
        return started[0]
