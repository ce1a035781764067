# SPDX-License-Identifier: Apache-2.0
"""Verilated boards for the simulator: `tw_accl_node`, which takes moves, or `tw_accl_engine`, which takes calls, built once for each set of parameters."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.errors import InputError
from thalweg.resources import find_root

if TYPE_CHECKING:
    from thalweg.systems.accl.cluster import Board, Cluster

BUFFERS = 16  #: receive buffers of the hardware
CALLS = 8  #: that it has under way
SLOTS = 2 * CALLS  #: moves, alike
_LEAST_MHZ, _MOST_MHZ = 7 * SLOTS + 1, 1024  #: of tw_time_outs


def parameters(cluster: Cluster, board: Board) -> dict[str, int | str]:
    """Of its module. Raises InputError where there is no hardware for the board's values."""
    if board.transport != "udp":
        raise InputError(f"{cluster.name}: the hardware has plain UDP alone, not {board.transport}")
    if board.packet_bytes > 8896:
        raise InputError(
            f"{cluster.name}: the hardware's packets have 8896 bytes of payload at most, not {board.packet_bytes}"
        )
    waiting = 1 << (board.fifo_bytes // 64).bit_length() - 1  # words of packets
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
    """The same of the whole engine."""
    cycles = round(cluster.clocks[board.engine_clock].frequency_mhz)
    if not _LEAST_MHZ <= cycles < _MOST_MHZ:
        raise InputError(
            f"{cluster.name}: the hardware's engine has a clock of {_LEAST_MHZ} to {_MOST_MHZ - 1} MHz, not {cycles}"
        )
    return {"Calls": CALLS, "CyclesPerUs": cycles, **parameters(cluster, board)}


def libraries(cluster: Cluster, boards: Iterable[int], *, calls: bool = False) -> dict[int, str]:
    """The library of the Verilated node of each of these boards; `calls`: of the whole engine, which takes calls. Raises InputError without Verilator, and
    where there is no hardware for the board's values."""
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
