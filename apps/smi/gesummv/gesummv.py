# SPDX-License-Identifier: Apache-2.0
"""y = alpha A x + beta B x on one SMI rank and on two, which have twice the memory bandwidth; compares all bits with a
plain program, and prints the time.

python apps/smi/gesummv/gesummv.py --rows 2048 --columns 4096 --cluster smi-noctua
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from thalweg.errors import CheckFailed, InputError, ThalwegError
from thalweg.smi import Cluster, Run

FOLDER = Path(__file__).parent
W = 16
MOST = 16384  #: maximum columns, as in gemv.h
Array = NDArray[np.float32]


@dataclass(frozen=True)
class Outcome:
    cycles: int
    time_us: float
    y: Array


@dataclass(frozen=True)
class Problem:
    a: Array
    b: Array
    x: Array
    alpha: np.float32
    beta: np.float32

    @classmethod
    def random(cls, rows: int, columns: int) -> Problem:
        random = np.random.default_rng([rows, columns])
        a, b = random.random((2, rows, columns), dtype=np.float32)
        return cls(a, b, random.random(columns, dtype=np.float32), np.float32(1.5), np.float32(-0.25))

    def plain(self, banks: int) -> Array:
        """Expected result: sums in the kernels' order, in single precision."""
        return self.alpha * _product(self.a, self.x, banks) + self.beta * _product(self.b, self.x, banks)


def _product(matrix: Array, x: Array, banks: int) -> Array:
    lanes = np.zeros((len(matrix), banks * W), np.float32)
    for j in range(0, len(x), banks * W):
        lanes += matrix[:, j : j + banks * W] * x[j : j + banks * W]
    total = np.zeros(len(matrix), np.float32)
    for lane in lanes.T:
        total += lane
    return total


def simulate(cluster: Cluster | str | Path, problem: Problem, ranks: int) -> Outcome:
    """Raises InputError if a row's length is not a multiple of 4 W, or is too long."""
    rows, columns = problem.a.shape
    if columns % (4 * W) or columns > MOST:
        raise InputError(f"{columns} columns; it is a multiple of {4 * W}, and {MOST} at most")
    run = Run(cluster, ranks=ranks)
    if ranks == 1:
        _gemv(run, "one.cl", "gemv_a", 0, problem.a, problem.x, [0, 1])
        _gemv(run, "one.cl", "gemv_b", 0, problem.b, problem.x, [2, 3])
        last = "one.cl"
    else:
        _gemv(run, "two_0.cl", "gemv_a", 0, problem.a, problem.x, [0, 1, 2, 3])
        _gemv(run, "two_1.cl", "gemv_b", 1, problem.b, problem.x, [0, 1, 2, 3])
        run.kernel(FOLDER / "two_0.cl", "send", 0, rows=rows)
        last = "two_1.cl"
    y = run.buffer(ranks - 1, np.zeros(rows, np.float32), 0, "y")
    run.kernel(FOLDER / last, "add", ranks - 1, rows=rows, alpha=problem.alpha, beta=problem.beta, y=y)
    result = run.run()
    return Outcome(result.cycles, result.time_us, y.array.copy())


def _gemv(run: Run, file: str, name: str, rank: int, matrix: Array, x: Array, banks: list[int]) -> None:
    rows, columns = matrix.shape
    parts = matrix.reshape(rows, -1, len(banks), W)
    given: dict[str, Any] = {
        f"bank{b}": run.buffer(rank, parts[:, :, b], bank, f"{name}, part {b}") for b, bank in enumerate(banks)
    }
    for b in range(len(banks), 4):
        given[f"bank{b}"] = given["bank0"]  # not used by the kernel
    vector = run.buffer(rank, x, banks[0], f"{name}, x")
    run.kernel(FOLDER / file, name, rank, rows=rows, columns=columns, vector=vector, **given)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1024, help="of A and B")
    parser.add_argument("--columns", type=int, default=1024, help=f"a multiple of {4 * W}, {MOST} at most")
    parser.add_argument("--cluster", default="smi-noctua")
    given = parser.parse_args()
    if min(given.rows, given.columns) < 1:
        parser.error("--rows and --columns are above 0")
    problem = Problem.random(given.rows, given.columns)
    one, two = (simulate(given.cluster, problem, ranks) for ranks in (1, 2))
    for ranks, outcome in ((1, one), (2, two)):
        print(f"{ranks} rank{'s' * (ranks > 1)}: {outcome.cycles} cycles, {outcome.time_us:.3f} us")
        if not np.array_equal(outcome.y, problem.plain(2 * ranks)):
            raise CheckFailed(f"y of {ranks} ranks is not that of the plain program")
    print(f"{one.time_us / two.time_us:.3f} times as fast; y right")


if __name__ == "__main__":
    try:
        main()
    except ThalwegError as error:
        print(f"gesummv: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
