# SPDX-License-Identifier: Apache-2.0
"""Shares of computation, puts and reductions in a round of ARGOT, by hubs and by processors, for meshes of several sizes.

python apps/argot/shares.py [--ranks R] [--cells N,N,...]

The records that each node reduces twice in a round have 32 bytes per cell; the paper on PEACH2's calculator has 1 KByte to
16 MByte. Times are in us. Exits with 1 if hubs and processors differ in a bit.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numpy as np
from argot import Parser, problem
from flow import START, Program
from nodes import RANKS, RECORD, WAYS, Times
from thalweg.errors import CheckFailed, InputError

HEADS = ("cells", "a node's records", "computation", "puts", "reductions", "share", "puts", "reductions", "share")


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = Parser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--ranks", type=int, choices=RANKS, default=16, help="nodes")
    parser.add_argument("--cells", default="8,16,32,64", help="along an edge: multiples of 4 from 8 to 128")
    parser.add_argument("--cluster", default="peach2", help="a preset or a file")
    given = parser.parse_args(arguments)
    try:
        given.cells = [int(cells) for cells in given.cells.split(",")]
    except ValueError:
        raise InputError(f"--cells {given.cells}; give numbers such as 8,16") from None
    if bad := [cells for cells in given.cells if not 8 <= cells <= 128 or cells % 4]:
        raise InputError(f"{bad[0]} cells along an edge; they are a multiple of 4 from 8 to 128")
    return given


def of_round(cells: int, ranks: int, cluster: str) -> dict[str, Times]:
    """Times of a round with one source in the middle, by way. Raises CheckFailed if results differ."""
    times, results = {}, set()
    for name, way in WAYS.items():
        nodes = way(ranks, cluster)
        program = Program(problem(cells, 1), nodes)
        neutral, budget = program.round([np.full(int(np.prod(box.size)), START) for box in program.division.boxes])
        results.add(b"".join(each.tobytes() for each in neutral) + np.array(budget).tobytes())
        times[name] = nodes.times
    if len(results) > 1:
        raise CheckFailed(f"with {cells} cells along an edge, hubs and processors have different results")
    return times


def size(count: int) -> str:
    return f"{count / 1024:g} KByte" if count < 1 << 20 else f"{count / (1 << 20):.3g} MByte"


def run(given: argparse.Namespace) -> None:
    for index, cells in enumerate(given.cells):
        hub, processor = of_round(cells, given.ranks, given.cluster).values()
        if index == 0:  # not before an error
            print(f"{given.ranks} nodes of {given.cluster}, us per round{'by hubs':>40}{'by processors':>32}")
            print("".join(f"{head:>{18 if head == HEADS[1] else 12}}" for head in HEADS))
        row = [f"{cells:>12}", f"{size(cells**3 // given.ranks * RECORD):>18}", f"{hub.computation:12.1f}"]
        for times in (hub, processor):
            row += [f"{times.puts:12.1f}", f"{times.reductions:12.1f}", f"{100 * times.share:10.1f} %"]
        print("".join(row))


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        run(options(arguments))
    except (InputError, CheckFailed) as error:
        print(f"shares: {error}", file=sys.stderr)
        return 1 if isinstance(error, CheckFailed) else 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
