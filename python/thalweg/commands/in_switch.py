# SPDX-License-Identifier: Apache-2.0
"""The option `--in-switch`, of commands whose collectives an MPI-FPGA cluster's switches can execute."""

from __future__ import annotations

import click

from thalweg.commands.named_files import ClusterName

in_switch_option = click.option(
    "--in-switch",
    metavar="C",
    type=ClusterName(),
    help="Execute collectives in the switches of this MPI-FPGA cluster, e.g. mpi-fpga-torus-2x2x2 [default: in the ranks].",
)
