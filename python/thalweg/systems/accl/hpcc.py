# SPDX-License-Identifier: Apache-2.0
"""PTRANS and LINPACK of HPCC FPGA on a grid of P x P boards: kernels compute, and the engines move blocks of fp32 between
boards.

Distribution and steps are those of HPCC FPGA's host programs for ACCL (pc2/HPCC_FPGA, folders PTRANS and LINPACK),
whose kernels also run.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from thalweg.bench.operation import Measured, Operation, Plan, Progress, Row, Sizes, at_least, one_of, parse_sizes
from thalweg.bench.plot import lines_over_size
from thalweg.errors import InputError
from thalweg.resources import resource
from thalweg.systems.accl.cluster import Cluster, Server
from thalweg.systems.accl.kernels import Kernels
from thalweg.systems.accl.launch import prepared, run_on
from thalweg.systems.accl.library import Rank
from thalweg.systems.accl.operations import BUFFERS, BY, ELEMENT, line_us, turn, way_us
from thalweg.systems.accl.timelines import EndedCall, recorded
from thalweg.systems.accl.values import Array, Buffer, Communicator, Stream
from thalweg.trace.recorded import Recorded, in_turn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from thalweg.systems.accl.values import Request

LANES = 16  #: elements per word of memory and of a kernel's stream
MAX_RESIDUAL = 16  #: maximum scaled residual of a right solution, as in HPL


@dataclass(frozen=True)
class Grid:
    """P x P boards with a matrix in blocks: block (i, j) is on the board in row i mod P and column j mod P of the grid."""

    cluster: Cluster
    side: int
    block: int  #: rows of a block
    order: int  #: rows of the matrix

    @property
    def ranks(self) -> int:
        return self.side**2

    @property
    def blocks(self) -> int:
        """Blocks in a row of a board's part of the matrix."""
        return self.order // self.side // self.block

    @property
    def block_bytes(self) -> int:
        return self.block**2 * ELEMENT

    def indices(self, place: int) -> Array:
        """Rows (columns) of the whole matrix on the boards in that row (column) of the grid."""
        first = np.arange(place, self.side * self.blocks, self.side) * self.block
        return (first[:, None] + np.arange(self.block)).ravel()

    def of(self, rank: int, matrix: Array) -> Array:
        """Returns a rank's part of the matrix, row by row."""
        row, column = divmod(rank, self.side)
        part: Array = matrix[np.ix_(self.indices(row), self.indices(column))]
        return part

    def whole(self, parts: Sequence[Array]) -> Array:
        """Returns the matrix, from all ranks' parts."""
        matrix = np.zeros((self.order, self.order), np.float32)
        for rank, part in enumerate(parts):
            row, column = divmod(rank, self.side)
            matrix[np.ix_(self.indices(row), self.indices(column))] = part
        return matrix


class Caller:
    """Starts kernels and calls the engine, as a kernel, without overhead, or as the host, with an invocation time each."""

    def __init__(self, rank: Rank, kernels: Kernels, by: str, invocation_us: float) -> None:
        self.rank, self.engine = rank, rank.kernel() if by == "kernel" else rank
        self._kernels, self._invocation_us = kernels, invocation_us if by == "host" else 0.0
        self.done: list[EndedCall] = []  #: kernels and calls, for the timeline

    def start(self, name: str, arguments: Mapping[str, Any]) -> Request:
        self.rank.pause(self._invocation_us)
        return self.rank.start(self._kernels, name, arguments)

    def run(self, name: str, arguments: Mapping[str, Any]) -> None:
        begin = self.rank.now_us
        self.start(name, arguments).wait()
        self.note(name, begin)

    def bcast(self, block: Buffer, root: int, comm: Communicator) -> None:
        if comm.size > 1:
            begin = self.rank.now_us
            self.engine.bcast(block, block.array.size, root, comm=comm)
            self.note("bcast", begin)

    def note(self, name: str, begin_us: float) -> None:
        self.done.append(EndedCall(self.rank.rank, name, begin_us, self.rank.now_us))


class _Timing(NamedTuple):
    """Times and result of a rank's run."""

    begin_us: float
    end_us: float
    data: Array
    calls: Sequence[EndedCall]


def transpose(grid: Grid, caller: Caller, a: Array, b: Array) -> _Timing:
    """Computes B plus the transposed A: each board exchanges its part with the board across the grid's diagonal.

    An optical switch connects these two first.
    """
    rank = caller.rank
    row, column = divmod(rank.rank, grid.side)
    across = [divmod(other, grid.side)[::-1] for other in range(grid.ranks)]
    pairs = [(one, i * grid.side + j) for one, (i, j) in enumerate(across)]
    turn(rank, grid.cluster, [pair for pair in pairs if pair[0] < pair[1]])
    port = rank.kernel_port()
    matrices = [rank.create_buffer(each.ravel()) for each in (a, b)]
    out = rank.create_buffer(a.size)
    begin = rank.now_us
    common = {
        "number_of_blocks": grid.blocks**2,
        "width_in_blocks": grid.blocks,
        "height_in_blocks": grid.blocks,
    }
    read = caller.start("transpose_read0", {"A": matrices[0], "offset_a": 0, "krnl2cclo": port.data_in, **common})
    written = {"B": matrices[1], "A_out": out, "offset_b": 0, "cclo2krnl": port.data_out}
    write = caller.start("transpose_write0", written | common)
    put = caller.engine.stream_put(Stream(), a.size, column * grid.side + row, stream_id=0, run_async=True)
    for each in (put, read, write):
        each.wait()
        caller.note("stream_put" if each is put else "transpose", begin)
    end = rank.now_us
    return _Timing(begin, end, out.array.reshape(a.shape), caller.done)


def factorize(grid: Grid, caller: Caller, a: Array) -> _Timing:
    """LU factorization without pivoting.

    Each step computes the block on the diagonal, then the blocks right of it and below it, which are broadcast along
    columns and rows, and then all others.
    """
    rank, side, blocks = caller.rank, grid.side, grid.blocks
    row, column = divmod(rank.rank, side)
    along_row = rank.create_communicator([row * side + other for other in range(side)])
    along_column = rank.create_communicator([other * side + column for other in range(side)])
    assert along_row and along_column
    matrix = rank.create_buffer(a.ravel())
    size = grid.block**2
    diagonal, transposed = rank.create_buffer(size), rank.create_buffer(size)
    top, left = [[rank.create_buffer(size) for _ in range(blocks)] for _ in range(2)]

    def place(i: int, j: int) -> dict[str, Any]:
        return {"a": matrix, "block_row": i, "block_col": j, "blocks_per_row": blocks}

    begin = rank.now_us
    for step in range(side * blocks):
        root, local = step % side, step // side
        rows = range(local + (row <= root), blocks)  # rows of this board's blocks below the diagonal
        columns = range(local + (column <= root), blocks)
        if row == column == root:
            out = {"a_block": diagonal, "a_block_trans": transposed}
            caller.run("lu", place(local, local) | out)
        if row == root:
            caller.bcast(transposed, root, along_row)
            for j in columns:
                given = {"top_block": top[j], "lu_global_buffer_transposed": transposed, "is_first_block": j == 0}
                caller.run("top_update", place(local, j) | given)
        if column == root:
            caller.bcast(diagonal, root, along_column)
            for i in rows:
                given = {"left_block": left[i], "lu_global_buffer": diagonal, "is_first_block": i == 0}
                caller.run("left_update", place(i, local) | given)
        for j in columns:
            caller.bcast(top[j], root, along_column)
        for i in rows:
            caller.bcast(left[i], root, along_row)
        for i in rows:
            for j in columns:
                given = {"left_global_buffer": left[i], "top_global_buffer": top[j]}
                caller.run("inner_update_mm0", place(i, j) | given)
    end = rank.now_us
    return _Timing(begin, end, matrix.array.reshape(a.shape), caller.done)


def residual(a: Array, b: Array, factors: Array) -> float:
    """Returns HPL's scaled residual of the solution by the factors.

    L is in the lower triangle, with -1 / L[k][k] on the diagonal; -U is in the upper one, with a unit diagonal.
    """
    factors, exact = factors.astype(np.float64), a.astype(np.float64)
    lower = np.tril(factors, -1) + np.diag(-1 / np.diag(factors))
    upper = np.eye(len(a)) - np.triu(factors, 1)
    x = np.linalg.solve(upper, np.linalg.solve(lower, b))
    norm = np.abs(exact).sum(axis=1).max() * np.abs(x).max() + np.abs(b).max()
    return float(np.abs(exact @ x - b).max() / (np.finfo(np.float32).eps * norm * len(a)))


@dataclass(frozen=True)
class Ptrans:
    """C = B + transposed A."""

    name = "ptrans"
    until = "the last board has added its blocks"

    def data(self, grid: Grid, seed: int) -> tuple[Array, Array]:
        random = np.random.default_rng([seed, grid.order])
        a, b = random.uniform(-1, 1, (2, grid.order, grid.order)).astype(np.float32)
        return a, b

    def connections(self, grid: Grid) -> Iterable[tuple[int, int]]:
        """Pairs of boards that need a connection at the start."""
        return ()

    def of(self, grid: Grid, caller: Caller, data: tuple[Array, Array]) -> _Timing:
        return transpose(grid, caller, *(grid.of(caller.rank.rank, each) for each in data))

    def bound_us(self, grid: Grid) -> float:
        """A board reads, sends and receives all of its part."""
        payload = grid.block_bytes * grid.blocks**2
        across = line_us(grid.cluster, payload) + way_us(grid.cluster) if grid.side > 1 else 0
        return max(payload / grid.cluster.board(0).memory_gb / 1e3, across)

    def columns(self, grid: Grid, data: tuple[Array, Array], found: Array, time_us: float) -> tuple[bool, Row]:
        a, b = data
        right = np.array_equal(found, b + a.T)
        return right, {"gflop_per_s": grid.order**2 / time_us / 1e3, "gb_per_s": 3 * a.nbytes / time_us / 1e3}


@dataclass(frozen=True)
class Linpack:
    """LU factorization of a diagonally dominant matrix, which needs no pivoting."""

    name = "linpack"
    until = "the last board has its factors"

    def data(self, grid: Grid, seed: int) -> tuple[Array, Array]:
        random = np.random.default_rng([seed, grid.order])
        a = random.uniform(-1, 1, (grid.order, grid.order)) + grid.order * np.eye(grid.order)
        return a.astype(np.float32), random.uniform(-1, 1, grid.order)

    def connections(self, grid: Grid) -> Iterable[tuple[int, int]]:
        """Pairs of boards that need a connection: all in a row or column of the grid."""
        places = [divmod(rank, grid.side) for rank in range(grid.ranks)]
        for one, another in combinations(range(grid.ranks), 2):
            if any(a == b for a, b in zip(places[one], places[another], strict=True)):
                yield one, another

    def of(self, grid: Grid, caller: Caller, data: tuple[Array, Array]) -> _Timing:
        return factorize(grid, caller, grid.of(caller.rank.rank, data[0]))

    def bound_us(self, grid: Grid) -> float:
        """The last board of the grid reads and writes a block per update, and receives a row and a column of blocks in the
        steps of other boards."""
        side, blocks = grid.side, grid.blocks
        left = [blocks - step // side - (step % side == side - 1) for step in range(side * blocks)]
        stored = 2 * sum(each**2 for each in left) * grid.block_bytes / grid.cluster.board(0).memory_gb / 1e3
        others = sum(2 * each for step, each in enumerate(left) if step % side != side - 1)
        return max(stored, others * line_us(grid.cluster, grid.block_bytes))

    def columns(self, grid: Grid, data: tuple[Array, Array], found: Array, time_us: float) -> tuple[bool, Row]:
        error = residual(*data, found)
        return error <= MAX_RESIDUAL, {"gflop_per_s": 2 / 3 * grid.order**3 / time_us / 1e3, "residual": error}


class _Run(NamedTuple):
    """Each rank's run, and the timeline."""

    took: Sequence[_Timing]
    recorded: Recorded


def _run(operation: Ptrans | Linpack, grid: Grid, kernels: Kernels, by: str, data: tuple[Array, Array]) -> _Run:
    board = grid.cluster.board(0)
    buffer = max(board.packet_bytes, grid.block_bytes)
    made = prepared(
        grid.ranks,
        grid.cluster,
        buffers=min(BUFFERS, 4 * grid.blocks + 8),
        buffer_bytes=buffer,
        most_eager_bytes=buffer,
    )
    for one, another in operation.connections(grid):
        if missing := made.network.missing_light(one, another):
            raise InputError(f"{operation.name} of {grid.ranks} ranks: {missing}")
    found = run_on(made, lambda rank: operation.of(grid, Caller(rank, kernels, by, board.invocation_us), data))
    calls = [call for took in found.values for call in took.calls]
    return _Run(found.values, recorded(grid.cluster, made.network, calls))


def _measured(operation: Ptrans | Linpack, grid: Grid, kernels: Kernels, by: str, seed: int) -> Measured:
    data = operation.data(grid, seed)
    done = _run(operation, grid, kernels, by, data)
    time_us = max(took.end_us for took in done.took) - min(took.begin_us for took in done.took)
    bcast_us = max(
        sum(each.end_us - each.begin_us for each in took.calls if each.name == "bcast") for took in done.took
    )
    right, own = operation.columns(grid, data, grid.whole([took.data for took in done.took]), time_us)
    columns: Row = {"ranks": grid.ranks, "order": grid.order, "by": by, "bcast_us": bcast_us, **own}
    return Measured(grid.order**2 * ELEMENT, time_us, operation.bound_us(grid), right, columns)


def _operation(operation: Ptrans | Linpack) -> Operation:
    def plan(
        cluster: Cluster,
        *,
        ranks: int = 4,
        orders: Sizes | None = None,
        block: int = 64,
        by: str = "kernel",
        kernels: str | Path = "",
        includes: Sequence[str | Path] = (),
        defines: Sequence[str] = (),
        seed: int = 1,
    ) -> Plan:
        """Plans PTRANS or LINPACK.

        `ranks` is a square number, 0 for the largest; `orders` are numbers of rows of the matrix, by default for two
        and four blocks per board; `block` is the number of rows of a block, as in the kernels. `by` is who starts
        kernels and calls the engine, "kernel" or "host". `kernels` is a source of HPCC FPGA's kernels instead of the
        built-in ones, with folders of its headers and its macros.
        """
        at_least("seed", seed, 0)
        at_least("ranks", ranks, 0)
        one_of("by", by, BY)
        if isinstance(cluster.board(0), Server):
            raise InputError(f"{operation.name} needs boards with an engine, which {cluster.name} does not have")
        boards = len(cluster.boards)
        side = math.isqrt(ranks or boards)
        if not 1 <= side**2 <= boards or (ranks and side**2 != ranks):
            raise InputError(f"ranks is {ranks}; must be a square number, at most {boards} on {cluster.name}")
        if at_least("block", block, LANES) % LANES:
            raise InputError(f"block is {block}; must be a multiple of {LANES}")
        grids = [
            Grid(cluster, side, block, order)
            for order in parse_sizes([side * block * 2, side * block * 4] if orders is None else orders)
        ]
        for grid in grids:
            if not grid.order or grid.order % (side * block):
                raise InputError(
                    f"orders has {grid.order}; must be a positive multiple of {side} x {block} rows, for whole blocks on {side} x {side} boards"
                )
        if any(re.match(r"BLOCK_SIZE\b", each) for each in defines):
            raise InputError(f"defines has BLOCK_SIZE; it is the number of rows of a block, block = {block}")
        source = Path(kernels) if kernels else resource(f"runtime/accl/hpcc/{operation.name}.cpp")
        title = f"{operation.name} on {side} x {side} boards of {cluster.name}, called by {by}s"
        compiled = Kernels(source, includes, [f"BLOCK_SIZE={block}", *defines])

        def measure(progress: Progress, _: int) -> Iterator[Measured]:
            for number, grid in enumerate(grids):
                yield _measured(operation, grid, compiled, by, seed)
                progress((number + 1) / len(grids))

        def record(_: Sequence[Row]) -> Recorded:
            runs = (_run(operation, grid, compiled, by, operation.data(grid, seed)) for grid in grids)
            return in_turn(title, [run.recorded for run in runs])

        def draw(axes: Axes, rows: Sequence[Row]) -> None:
            lines_over_size(axes, [(rows, "time_us", "bound_us", operation.name)])

        return Plan(cluster, operation.name, title, operation.until, measure, {"data": seed}, record=record, draw=draw)

    return Operation(plan)


OPERATIONS = {each.name: _operation(each) for each in (Ptrans(), Linpack())}
