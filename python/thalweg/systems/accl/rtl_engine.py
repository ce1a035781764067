# SPDX-License-Identifier: Apache-2.0
"""Verilated boards for the simulator, built once per set of parameters: `tw_accl_node`, which executes moves, or
`tw_accl_engine`, which executes calls."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.errors import InputError
from thalweg.resources import find_root

if TYPE_CHECKING:
    from thalweg.systems.accl.cluster import Board, Cluster

BUFFERS = 16  #: receive buffers of the RTL
CALLS = 8  #: concurrent calls
SLOTS = 2 * CALLS  #: concurrent moves
_MIN_MHZ, _MAX_MHZ = 7 * SLOTS + 1, 1024  #: limits of tw_time_outs


def parameters(cluster: Cluster, board: Board) -> dict[str, int | str]:
    """Returns the module's parameters. Raises InputError if no RTL exists for the board's values."""
    if board.transport != "udp":
        raise InputError(f"{cluster.name}: transport is {board.transport}; the RTL supports only udp")
    if board.packet_bytes > 8896:
        raise InputError(f"{cluster.name}: packet_bytes is {board.packet_bytes}; must be at most 8896 in the RTL")
    waiting = 1 << (board.fifo_bytes // 64).bit_length() - 1  # FIFO of packets in words
    ends = 1 << max(1, (len(cluster.boards) - 1).bit_length())
    return {
        "Buffers": BUFFERS,
        "Ends": ends,
        "Ranks": ends,
        "PacketBytes": board.packet_bytes,
        "ReceiveWords": waiting,
        "OwnWords": waiting,
        "Conversions": int(board.compression),
        **({} if board.arithmetic else {"Pairs": "512'd0"}),
    }


def engine_parameters(cluster: Cluster, board: Board) -> dict[str, int | str]:
    """Returns the parameters of the whole engine. Raises InputError."""
    cycles = round(cluster.clocks[board.engine_clock].frequency_mhz)
    if not _MIN_MHZ <= cycles < _MAX_MHZ:
        raise InputError(
            f"{cluster.name}: the engine's clock is {cycles} MHz; must be {_MIN_MHZ} to {_MAX_MHZ - 1} in the RTL"
        )
    return {"Calls": CALLS, "CyclesPerUs": cycles, **parameters(cluster, board)}


def libraries(cluster: Cluster, boards: Iterable[int], *, calls: bool = False) -> dict[int, str]:
    """Returns the library of each board's Verilated node or, with `calls`, of its whole engine.

    Raises InputError without Verilator, and if no RTL exists for the boards' values.
    """
    found = {}
    for number in boards:
        board = cluster.board(number)
        clocks = {"engine": board.engine_clock, "mac": board.line_clock}
        megahertz = tuple((name, cluster.clocks[clock].frequency_mhz) for name, clock in clocks.items())
        values = engine_parameters(cluster, board) if calls else {"Slots": SLOTS, **parameters(cluster, board)}
        module = "accl_engine" if calls else "accl_node"
        found[number] = str(_built(find_root(), module, tuple(values.items()), megahertz))
    return found


@cache
def _built(
    root: Path, module: str, parameters: tuple[tuple[str, int | str], ...], clocks: tuple[tuple[str, float], ...]
) -> Path:
    from thalweg.rtl.project import Project

    return Project(root).build_library(
        f"tw_{module}", root / f"rtl/accl/{module}.cpp", dict(parameters), clocks=dict(clocks)
    )
