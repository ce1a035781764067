# SPDX-License-Identifier: Apache-2.0
"""`thalweg rtl export`: exports a node of a cluster as a folder of hardware."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from thalweg.commands.exported import cluster_argument, folder_of, output_option
from thalweg.spec import Datatype, Operator, supported
from thalweg.systems.mpi_fpga import export, top
from thalweg.systems.mpi_fpga.cluster import Cluster

COMBINING = [operator for operator in Operator if operator != Operator.NONE]


class Combination(click.ParamType[tuple[Operator, Datatype]]):
    """OPERATOR:TYPE, as in sum:float64."""

    name = "operator:type"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Operator, Datatype]:
        operator, _, datatype = str(value).upper().partition(":")
        for name, known in ((operator, COMBINING), (datatype, list(Datatype))):
            if name not in (each.name for each in known):
                names = ", ".join(each.name.lower() for each in known)
                self.fail(
                    f"{value!r} is not OPERATOR:TYPE, as in sum:float64: {name.lower()!r} is not among {names}",
                    param,
                    ctx,
                )
        if Operator[operator] < Operator.USER0 and not supported(Operator[operator], Datatype[datatype]):
            self.fail(f"{operator.lower()} does not support {datatype.lower()}", param, ctx)
        return Operator[operator], Datatype[datatype]


@click.command()
@cluster_argument
@output_option
@click.option(
    "--combine",
    "combinations",
    type=Combination(),
    multiple=True,
    metavar="OPERATOR:TYPE",
    help="Operator and type of the lanes, e.g. sum:float64; may be repeated. [default: all]",
)
@click.option(
    "--operators",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder with tw_user_operator.sv, which implements user-defined operators (user0 to user2 of --combine).",
)
def command(
    cluster_name: str,
    output: Path | None,
    combinations: tuple[tuple[Operator, Datatype], ...],
    operators: Path | None,
) -> None:
    """Export a node of a cluster as a self-contained folder of hardware.

    It contains the SystemVerilog of router, collective unit and links, a top level with AXI4-Stream and AXI4-Lite
    ports, its register map with a C header and pages, a FuseSoC core file, the table contents written by software, and
    a README with its connections.
    """
    cluster = Cluster.load(cluster_name)
    output = folder_of(cluster_name, output)
    pairs: dict[Datatype, list[Operator]] = {}
    for operator, datatype in dict.fromkeys(combinations):
        pairs.setdefault(datatype, []).append(operator)
    export.export(cluster, output, pairs or None, operators)
    click.echo(f"{output}: {top.TOP} of {cluster.name}; see README.md for its connections")
