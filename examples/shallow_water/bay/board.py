# SPDX-License-Identifier: Apache-2.0
"""A board of the simulation: its partition in its memory, its kernels, and who exchanges its halo with other boards."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from thalweg.accl import Kernels, Rank

from bay.model import Array, Parameters
from bay.partition import Partition, Tables

MOST_STEPS = 16_384  #: of a start of the element kernel
_STREAM = 512  #: depth in words of the streams between the element kernel and the halo kernels


@cache
def kernels() -> Kernels:
    """Compiled once in a process."""
    return Kernels(Path(__file__).with_name("kernels.cpp"))


class Board:
    """A rank with a partition. `state`: of its elements, and of those of others that it needs."""

    def __init__(self, rank: Rank, part: Partition, tables: Tables, parameters: Parameters, state: Array) -> None:
        self.rank, self.part = rank, part
        self._parameters = parameters
        self._geometry, self._links, self._state = (self.buffer(of) for of in (tables.geometry, tables.links, state))
        self._tides, self._stalls = rank.create_buffer(MOST_STEPS), rank.create_buffer(2, np.int32)
        self.sent, self.counts = self.buffer(tables.sent), self.buffer(tables.counts)
        self.boundary = rank.kernel_stream("boundary", depth=_STREAM)
        self.halo = rank.kernel_stream("halo", depth=_STREAM)

    def buffer(self, values: Any) -> Any:
        flat = np.ascontiguousarray(values).ravel()
        return self.rank.create_buffer(flat if len(flat) else np.zeros(1, flat.dtype))

    @property
    def state(self) -> Array:
        """Of its own elements."""
        return np.asarray(self._state.array).reshape(-1, 3)[: len(self.part.elements)]

    @property
    def stalls(self) -> tuple[int, int]:
        """Cycles that the pipeline has stalled in the last start, and at most in a step."""
        return int(self._stalls.array[0]), int(self._stalls.array[1])

    def start(self, name: str, arguments: Mapping[str, Any]) -> Any:
        return self.rank.start(kernels(), name, arguments)

    def compute(self, first: int, steps: int) -> Any:
        """Starts the element kernel for so many steps."""
        self._tides.array[:steps] = self._parameters.tide(first, steps)
        gravity, coriolis, friction = (float(each) for each in self._parameters.constants)
        arguments = {
            "geometry": self._geometry,
            "links": self._links,
            "tides": self._tides,
            "state": self._state,
            "stalls": self._stalls,
            "elements": len(self.part.elements),
            "boundary": self.part.boundary,
            "halo": len(self.part.halo),
            "steps": steps,
            "gravity": gravity,
            "coriolis": coriolis,
            "friction": friction,
            "to_others": self.boundary,
            "from_others": self.halo,
        }
        return self.start("element", arguments)


class ByEngine:
    """ACCL's engine exchanges the halo; kernels give it its commands and data."""

    def __init__(self, board: Board) -> None:
        self._board = board
        rank, part = board.rank, board.part
        self._port = rank.kernel_port(stream=9)
        self._ranks = board.buffer(np.array(part.neighbours, np.int32))
        self._received = board.buffer(np.array([len(each) for each in part.receives], np.int32))

    def exchange(self, first: int, steps: int) -> None:
        board, port = self._board, self._port
        count = {"neighbours": len(board.part.neighbours), "steps": steps}
        sending = {
            "sent": board.sent,
            "counts": board.counts,
            "boundary": board.part.boundary,
            "elements": board.boundary,
            "data": port.data_in,
        }
        receiving = {"counts": self._received, "data": port.data_out, "elements": board.halo}
        scheduling = {
            "ranks": self._ranks,
            "sent": board.counts,
            "received": self._received,
            "communicator": board.rank.world.address,
            "arithmetic": board.rank.arithmetic(np.float32),
            "commands": port.commands,
            "status": port.status,
        }
        started = [
            board.start("send_halo", sending | count),
            board.start("receive_halo", receiving | count),
            board.start("schedule", scheduling | count),
        ]
        for each in started:
            each.wait()


class ByHosts:
    """The hosts exchange the halo, without ACCL: each starts kernels that write and read messages in its board's memory. From a message that is written
    to one that can be read it takes `latency_us`, whatever there is on the way: invocations, PCIe, MPI. `mail` is that way, shared by all."""

    def __init__(self, board: Board, latency_us: float, mail: dict[tuple[int, int, int], Array]) -> None:
        self._board, self._latency_us, self._mail = board, latency_us, mail
        part = board.part
        self._out = board.rank.create_buffer(max(3 * part.sent, 1))
        self._in = board.rank.create_buffer(max(3 * len(part.halo), 1))

    def exchange(self, first: int, steps: int) -> None:
        if self._board.part.neighbours:
            for step in range(first, first + steps):
                self._exchange(step)

    def _exchange(self, step: int) -> None:
        board, part = self._board, self._board.part
        here = board.rank.rank
        writing = {
            "sent": board.sent,
            "all": part.sent,
            "boundary": part.boundary,
            "message": self._out,
            "elements": board.boundary,
        }
        board.start("write_halo", writing).wait()
        ends = np.cumsum([len(each) for each in part.sends])
        for other, message in zip(
            part.neighbours, np.split(self._out.array[: 3 * part.sent], 3 * ends[:-1]), strict=True
        ):
            self._mail[here, other, step] = message.copy()
        board.rank.pause(self._latency_us)
        while not all((other, here, step) in self._mail for other in part.neighbours):
            board.rank.pause(1)
        messages = [self._mail.pop((other, here, step)) for other in part.neighbours]
        self._in.array[: 3 * len(part.halo)] = np.concatenate(messages)
        board.start("read_halo", {"message": self._in, "halo": len(part.halo), "elements": board.halo}).wait()
