# SPDX-License-Identifier: Apache-2.0
"""`thalweg bench ptrans` and `thalweg bench linpack`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from thalweg.commands.measured import Columns, Outputs, cluster_option, measure, outputs, seed_option
from thalweg.commands.named_files import InputFile
from thalweg.systems.accl import hpcc, operations
from thalweg.systems.accl.cluster import Cluster

_HELP = {
    "ptrans": """Matrix transposition, C = B + A^T, on a square grid of boards.

    Each board and the one across the grid's diagonal exchange blocks between kernels. GB/s count A, B and C.""",
    "linpack": """LU factorization without pivoting on a square grid of boards.

    Blocks are distributed cyclically; kernels factorize them, engines broadcast them along rows and columns. GFLOP/s count 2/3 n^3.""",
}
_COLUMNS: dict[str, Columns] = {
    "ptrans": (("GFLOP/s", "gflop_per_s"), ("GB/s", "gb_per_s")),
    "linpack": (("bcast", "bcast_us"), ("GFLOP/s", "gflop_per_s"), ("residual", "residual")),
}


def _command(name: str) -> click.Command:
    def body(cluster: str, outputs: Outputs, kernels: Path | None, **options: Any) -> None:
        plan = hpcc.OPERATIONS[name].plan(Cluster.load(cluster), kernels=kernels or "", **options)
        measure(plan, outputs, _COLUMNS[name], before=[("order", "order")])

    body.__name__, body.__doc__ = name, _HELP[name]
    decorated: Any = outputs(body)
    for option in reversed(
        [
            click.option(
                "--ranks",
                type=click.IntRange(0),
                default=4,
                show_default=True,
                help="Number of boards, a square number; 0: the maximum.",
            ),
            click.option(
                "--orders",
                metavar="N,...",
                help="Rows of the matrix [default: two and four blocks per board in each direction; 256,512]",
            ),
            click.option(
                "--block",
                type=click.IntRange(16),
                default=64,
                show_default=True,
                help="Rows of a block, a multiple of 16.",
            ),
            click.option(
                "--by",
                type=click.Choice(operations.BY),
                default="kernel",
                show_default=True,
                help="Caller of kernels and engine.",
            ),
            click.option(
                "--kernels",
                type=InputFile(),
                metavar="FILE",
                help="Source of HPCC FPGA's kernels to run; BLOCK_SIZE is defined for it.",
            ),
            click.option(
                "-I",
                "includes",
                multiple=True,
                type=click.Path(path_type=Path),
                metavar="DIR",
                help="Folder of its headers.",
            ),
            click.option("-D", "defines", multiple=True, metavar="NAME=VALUE", help="Macro for the source."),
            seed_option("the data"),
        ]
    ):
        decorated = option(decorated)
    return click.command(name)(cluster_option("accl-u280-udp")(decorated))


COMMANDS = {name: _command(name) for name in hpcc.OPERATIONS}
