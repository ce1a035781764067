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
    help=f"Who calls the engine [default: {b_eff.CALLERS[0]}]. Not on a cluster of host MPI.",
)
@click.option(
    "--way",
    type=click.Choice([*b_eff.WAYS, b_eff.BOTH]),
    help=f"Between kernels, or between memories [default: {b_eff.WAYS[0]}]. Not on a cluster of host MPI.",
)
@click.option(
    "--beside",
    multiple=True,
    type=ClusterName(),
    metavar="C",
    help="Measure a further cluster, too, such as noctua2-mpi. May be given several times.",
)
@click.option(
    "--kernels",
    type=InputFile(),
    metavar="FILE",
    help="Run HPCC FPGA's kernels of this source: communication_ACCL_pl_stream.cpp or communication_ACCL_pl.cpp.",
)
@click.option(
    "-I",
    "includes",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where its headers are: ACCL's accl_hls.h.",
)
@click.option("--ranks", type=click.IntRange(0), default=2, show_default=True, help="Boards, an even number; 0: all.")
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

    GB/s are those of one rank. --plot draws the latencies, and the model of the paper on ACCL (Equation 1) as dashed lines.
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
