# SPDX-License-Identifier: Apache-2.0
"""`thalweg bench b_eff`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from thalweg.commands.measured import Outputs, cluster_option, measure, outputs, seed_option, sizes_option
from thalweg.commands.named_files import ClusterName, InputFile
from thalweg.commands.output import print_line
from thalweg.systems.accl import b_eff
from thalweg.systems.accl.cluster import Cluster, Server

_BEFORE = [("ranks", "ranks"), ("way", "way"), ("by", "by")]


@click.command("b_eff")
@cluster_option("accl-u280-udp, or noctua2-mpi for host MPI")
@click.option(
    "--by",
    type=click.Choice([*b_eff.CALLERS, b_eff.BOTH]),
    help=f"Caller of the engine [default: {b_eff.CALLERS[0]}]. Not with host MPI.",
)
@click.option(
    "--way",
    type=click.Choice([*b_eff.WAYS, b_eff.BOTH]),
    help=f"streaming: between kernels; buffered: between memories [default: {b_eff.WAYS[0]}]. Not with host MPI.",
)
@click.option(
    "--beside",
    multiple=True,
    type=ClusterName(),
    metavar="C",
    help="Also measure this cluster, such as noctua2-mpi. May be repeated.",
)
@click.option(
    "--kernels",
    type=InputFile(),
    metavar="FILE",
    help="Source of HPCC FPGA's kernels to run: communication_ACCL_pl_stream.cpp or communication_ACCL_pl.cpp.",
)
@click.option(
    "-I",
    "includes",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of its headers: ACCL's accl_hls.h.",
)
@click.option("--ranks", type=click.IntRange(0), default=2, show_default=True, help="Number of boards, even; 0: all.")
@sizes_option("4:1M")
@seed_option("the data")
@outputs
def _command(
    cluster: str,
    outputs: Outputs,
    by: str | None,
    way: str | None,
    beside: tuple[str, ...],
    kernels: Path | None,
    **options: Any,
) -> None:
    """HPCC FPGA's effective bandwidth: boards in a ring exchange messages with both neighbours.

    GB/s are per rank. --plot draws the latencies, and the paper's model (Equation 1) as dashed lines.
    """
    loaded = Cluster.load(cluster)
    options |= {"by": by or "", "way": way or "", "kernels": kernels or "", "beside": beside}
    plan = b_eff.OPERATIONS["b_eff"].plan(loaded, **options)
    engine = any(not isinstance(Cluster.load(each).board(0), Server) for each in (cluster, *beside))
    own = [("model", "model_us")] * engine + [("GB/s", "gb_per_s")]
    rows = measure(plan, outputs, own, before=[("cluster", "cluster")] * bool(beside) + _BEFORE)
    for line in b_eff.summary(loaded, beside, rows):
        print_line(line)


COMMANDS = {"b_eff": _command}
