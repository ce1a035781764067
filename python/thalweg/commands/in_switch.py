# SPDX-License-Identifier: Apache-2.0
"""The option of commands whose collectives the switches of an MPI-FPGA cluster can compute."""

from __future__ import annotations

import click

from thalweg.commands.named_files import ClusterName

in_switch_option = click.option(
    "--in-switch",
    metavar="C",
    type=ClusterName(),
    help="A cluster of MPI-FPGA, such as mpi-fpga-torus-2x2x2, in whose switches collectives are computed. Otherwise ranks do that.",
)
