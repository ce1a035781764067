# SPDX-License-Identifier: Apache-2.0
"""The 4-point stencil on SMI ranks; compares all bits with a plain program, and prints the time.

python apps/smi/stencil/stencil.py --size 4096 --steps 4 --grid 2x4 --banks 4 --cluster smi-noctua
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from thalweg.errors import CheckFailed, InputError, ThalwegError
from thalweg.smi import Cluster, Run

SOURCE = Path(__file__).with_name("stencil.cl")
W = 16
Points = NDArray[np.float32]


@dataclass(frozen=True)
class Outcome:
    cycles: int
    time_us: float
    cpu_s: float  #: processor time of the run only
    elements: int  #: pushed and popped
    points: Points


def plain(points: Points, steps: int) -> Points:
    """Expected result: sums in the kernel's order, in single precision."""
    now = points.copy()
    for _ in range(steps):
        then = now.copy()
        around = ((now[:-2, 1:-1] + now[1:-1, :-2]) + now[1:-1, 2:]) + now[2:, 1:-1]
        then[1:-1, 1:-1] = np.float32(0.25) * around
        now = then
    return now


def simulate(
    cluster: Cluster | str | Path, points: Points, steps: int, grid: tuple[int, int] = (1, 1), banks: int = 1
) -> Outcome:
    """Raises InputError if the grid of ranks does not divide the domain."""
    rows, columns = grid
    nx, ny = points.shape[0] // rows, points.shape[1] // columns
    if points.shape != (nx * rows, ny * columns) or ny % (W * banks) or banks not in (1, 4) or nx < 2 or steps < 1:
        raise InputError(
            f"{points.shape} points on {rows} x {columns} ranks of {banks} banks: each has 2 rows or more, of a multiple of {W * banks} points"
        )
    run = Run(cluster, ranks=rows * columns, defines=[f"B={banks}", f"NX={nx}", f"NY={ny}"])
    inside = np.pad(points, 1)  # kernels do not read beyond the border
    memory = [_start(run, inside, steps, rank, grid, banks) for rank in range(rows * columns)]
    del inside
    before = time.process_time()
    result = run.run()
    cpu_s = time.process_time() - before
    out = np.empty_like(points)
    for rank, of in enumerate(memory):
        part = np.stack([buffer.array[steps % 2] for buffer in of], axis=2)  # row, vector, bank, W
        x, y = rank // columns * nx, rank % columns * ny
        out[x : x + nx, y : y + ny] = part.reshape(nx, ny)
    return Outcome(result.cycles, result.time_us, cpu_s, result.elements, out)


def _start(run: Run, inside: Points, steps: int, rank: int, grid: tuple[int, int], banks: int) -> list[Any]:
    """Starts a rank's kernels. Returns the buffers of its banks, with the points of even and odd steps."""
    rows, columns = grid
    nx, ny = (inside.shape[0] - 2) // rows, (inside.shape[1] - 2) // columns
    x, y = rank // columns * nx, rank % columns * ny
    vectors = inside[x + 1 : x + nx + 1, y + 1 : y + ny + 1].reshape(nx, ny // (W * banks), banks, W)
    memory = [run.buffer(rank, np.stack([vectors[:, :, b]] * 2), b, f"bank{b}") for b in range(banks)]
    common: dict[str, Any] = {"steps": steps, "rows": rows, "columns": columns, "rank": rank}
    of_banks: dict[str, Any] = {f"bank{b}": memory[b % banks] for b in range(4)}
    run.kernel(SOURCE, "read", rank, **common, **of_banks)
    run.kernel(SOURCE, "compute", rank, **common)
    run.kernel(SOURCE, "write", rank, **common, **of_banks)
    halos = {
        "north": inside[x, y + 1 : y + ny + 1],
        "south": inside[x + nx + 1, y + 1 : y + ny + 1],
        "west": inside[x + 1 : x + nx + 1, y],
        "east": inside[x + 1 : x + nx + 1, y + ny + 1],
    }
    for side, first in halos.items():
        run.kernel(SOURCE, f"receive_{side}", rank, **common, first=run.buffer(rank, first.copy(), 0, side))
        run.kernel(SOURCE, f"send_{side}", rank, **common)
    return memory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=512, help="points along a side")
    parser.add_argument("--steps", type=int, default=4, help="of time")
    parser.add_argument("--grid", default="1x1", help="ranks: rows x columns")
    parser.add_argument("--banks", type=int, default=1, choices=[1, 4], help="of a rank's memory")
    parser.add_argument("--cluster", default="smi-noctua")
    given = parser.parse_args()
    if not re.fullmatch("[1-9][0-9]*x[1-9][0-9]*", given.grid):
        parser.error(f"--grid {given.grid}; it is such as 2x4")
    if min(given.size, given.steps) < 1:
        parser.error("--size and --steps are above 0")
    rows, columns = map(int, given.grid.split("x"))
    points = np.random.default_rng(1).random((given.size, given.size), dtype=np.float32)
    outcome = simulate(given.cluster, points, given.steps, (rows, columns), given.banks)
    turns = (given.size // rows) * (given.size // columns) // (W * given.banks)
    print(f"{outcome.cycles} cycles, {outcome.time_us:.3f} us; {outcome.time_us / given.steps:.3f} us a step")
    print(f"{outcome.cycles / given.steps / turns:.3f} cycles for a vector of each bank")
    print(
        f"{outcome.cpu_s:.2f} s of CPU: {given.size**2 * given.steps / outcome.cpu_s:.3g} points and "
        f"{outcome.elements / 2 / outcome.cpu_s:.3g} elements pushed a second"
    )
    if not np.array_equal(outcome.points, plain(points, given.steps)):
        raise CheckFailed("its points are not those of the plain program")
    print("all points right")


if __name__ == "__main__":
    try:
        main()
    except ThalwegError as error:
        print(f"stencil: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
