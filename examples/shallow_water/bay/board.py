# SPDX-License-Identifier: Apache-2.0
"""A board of the simulation: its partition in its memory, its kernels, and the exchange of its halo with other boards."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from thalweg.accl import Kernels, Rank, Server

from bay.model import COURANT, MAX_RATIO, Array, Parameters
from bay.partition import Partition, Tables

LEVELS = 16_384  #: levels of the tide in the element kernel
MAX_STEPS = LEVELS // MAX_RATIO - 2  #: maximum steps per start of the element kernel
_STREAM = 512  #: words in the streams between the element kernel and the halo kernels


@cache
def kernels() -> Kernels:
    """Returns the compiled kernels, compiled once per process."""
    return Kernels(Path(__file__).with_name("kernels.cpp"))


class Board:
    """A rank with a partition. `state` has its elements and its halo. If `adaptive`, ACCL's engine or the switches find
    each time step; otherwise steps are nominal."""

    def __init__(
        self, rank: Rank, part: Partition, tables: Tables, parameters: Parameters, state: Array, adaptive: bool
    ) -> None:
        self.rank, self.part, self._adaptive = rank, part, adaptive
        self._parameters = parameters
        self._geometry, self._links, self._state = (self.buffer(of) for of in (tables.geometry, tables.links, state))
        self._tides, self._stalls = rank.create_buffer(LEVELS), rank.create_buffer(2, np.int32)
        self._clock = self.buffer(np.array([0, 1], np.float32))
        self.sent, self.counts = self.buffer(tables.sent), self.buffer(tables.counts)
        self.boundary = rank.kernel_stream("boundary", depth=_STREAM)
        self.halo = rank.kernel_stream("halo", depth=_STREAM)
        self._pace, self._ratio = rank.kernel_stream("pace"), rank.kernel_stream("ratio")
        self._paces = [rank.create_buffer(2048) for _ in range(2)]  # two separate buffers

    def buffer(self, values: Any) -> Any:
        flat = np.ascontiguousarray(values).ravel()
        return self.rank.create_buffer(flat if len(flat) else np.zeros(1, flat.dtype))

    @property
    def state(self) -> Array:
        """State of its own elements."""
        return np.asarray(self._state.array).reshape(-1, 3)[: len(self.part.elements)]

    @property
    def stalls(self) -> tuple[int, int]:
        """Stalled cycles of the pipeline in the last start: total, and maximum of a step."""
        return int(self._stalls.array[0]), int(self._stalls.array[1])

    @property
    def time(self) -> float:
        """Time in nominal steps."""
        return float(self._clock.array[0])

    def start(self, name: str, arguments: Mapping[str, Any]) -> Any:
        return self.rank.start(kernels(), name, arguments)

    def compute(self, steps: int) -> Any:
        """Starts the element kernel for some steps and, if time steps are adaptive, the kernel that reduces them over all
        boards."""
        levels = (MAX_RATIO if self._adaptive else 1) * steps + 2
        self._tides.array[:levels] = self._parameters.tide(int(self.time), levels)
        gravity, coriolis, friction = (float(each) for each in self._parameters.constants)
        arguments = {
            "geometry": self._geometry,
            "links": self._links,
            "tides": self._tides,
            "state": self._state,
            "stalls": self._stalls,
            "clock": self._clock,
            "elements": len(self.part.elements),
            "boundary": self.part.boundary,
            "halo": len(self.part.halo),
            "steps": steps,
            "levels": levels,
            "adaptive": int(self._adaptive),
            "gravity": gravity,
            "coriolis": coriolis,
            "friction": friction,
            "to_others": self.boundary,
            "from_others": self.halo,
            "to_all": self._pace,
            "from_all": self._ratio,
        }
        if self._adaptive:
            self._agree(steps)
        return self.start("element", arguments)

    def _agree(self, steps: int) -> None:
        port = self.rank.kernel_port(stream=9, pair=1)
        arguments = {
            "mine": self._paces[0],
            "all": self._paces[1],
            "steps": steps,
            "courant": 2 * COURANT,
            "most": MAX_RATIO,
            "communicator": self.rank.world.address,
            "arithmetic": self.rank.arithmetic(np.float32),
            "fastest": self._pace,
            "ratio": self._ratio,
            "commands": port.commands,
            "status": port.status,
        }
        self._agreeing = self.start("reduce_step", arguments)


class ByEngine:
    """Exchange of the halo by ACCL's engine, which kernels give commands and data.

    If `streamed`, messages are sent from kernels to kernels, which reorder them; otherwise, they use receive buffers.
    `firsts` are positions in neighbours' halos.
    """

    def __init__(self, board: Board, firsts: list[int], streamed: bool) -> None:
        self._board, self._streamed = board, streamed
        rank, part = board.rank, board.part
        self._port = rank.kernel_port(stream=9)
        self._ranks = board.buffer(np.array(part.neighbours, np.int32))
        self._received = board.buffer(np.array([len(each) for each in part.receives], np.int32))
        self._firsts = board.buffer(np.array(firsts, np.int32))

    def exchange(self, steps: int) -> None:
        board, port = self._board, self._port
        number = {"neighbours": len(board.part.neighbours)}
        count = number | {"steps": steps}
        sending = {
            "sent": board.sent,
            "counts": board.counts,
            "firsts": self._firsts,
            "boundary": board.part.boundary,
            "elements": board.boundary,
            "data": port.data_in,
        }
        receiving = {"steps": steps, "data": port.data_out, "elements": board.halo}
        scheduling = {
            "ranks": self._ranks,
            "sent": board.counts,
            "received": self._received,
            "streamed": int(self._streamed),
            "communicator": board.rank.world.address,
            "arithmetic": board.rank.arithmetic(np.float32),
            "commands": port.commands,
            "status": port.status,
        }
        started = [
            board.start("send_halo", sending | count),
            board.start("reorder_halo", receiving | {"halo": len(board.part.halo)})
            if self._streamed
            else board.start("receive_halo", receiving | number | {"counts": self._received}),
            board.start("schedule", scheduling | count),
        ]
        for each in started:
            each.wait()
        if self._streamed and steps:
            board.rank.barrier()  # all kernels end before a message of the next start arrives


class ByHosts:
    """Exchange of the halo by the hosts with MPI, without ACCL.

    In each step, hosts start a kernel that writes the messages to the board's memory, copy it over PCIe, exchange
    messages, copy what they received to the board, and start a kernel that reads it. As in thalweg's b_eff on servers,
    an engine is a server's adapter with MPI: its memory is the server's, and its host's memory is the board's, across
    PCIe.
    """

    def __init__(self, board: Board, server: Server) -> None:
        self._board, self._server = board, server
        rank, part = board.rank, board.part
        sizes = 3 * max(part.sent, 1), 3 * max(len(part.halo), 1)
        self._on_board = [rank.create_buffer(size, host=True) for size in sizes]
        self._in_server = [rank.create_buffer(size) for size in sizes]
        self._adapter = rank.kernel()

    def exchange(self, steps: int) -> None:
        if self._board.part.neighbours:
            for _ in range(steps):
                self._exchange()

    def _exchange(self) -> None:
        board, part, rank, server = self._board, self._board.part, self._board.rank, self._server
        (mine, others), (sent, received) = self._on_board, self._in_server
        rank.pause(server.invocation_us)
        writing = {
            "sent": board.sent,
            "all": part.sent,
            "boundary": part.boundary,
            "message": mine,
            "elements": board.boundary,
        }
        board.start("write_halo", writing).wait()
        rank.pause(server.sync_us)
        self._adapter.copy(mine, sent, len(mine), from_fpga=True, to_fpga=True)
        requests = []
        for numbers, memory, call in (
            (part.sends, sent, self._adapter.send),
            (part.receives, received, self._adapter.recv),
        ):
            ends = 3 * np.cumsum([0, *map(len, numbers)])
            for other, begin, end in zip(part.neighbours, ends[:-1].tolist(), ends[1:].tolist(), strict=True):
                place = {"from_fpga": True} if memory is sent else {"to_fpga": True}
                requests.append(call(memory[begin:end], end - begin, other, run_async=True, **place))
        for request in requests:
            request.wait()
        rank.pause(server.sync_us)
        self._adapter.copy(received, others, len(others), from_fpga=True)
        rank.pause(server.invocation_us)
        board.start("read_halo", {"message": others, "halo": len(part.halo), "elements": board.halo}).wait()
