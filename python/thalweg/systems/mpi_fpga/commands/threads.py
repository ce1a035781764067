# SPDX-License-Identifier: Apache-2.0
"""The option `--threads`."""

from __future__ import annotations

import click

from thalweg.systems.mpi_fpga.cluster import MAX_THREADS, THREADED_NODES

threads_option = click.option(
    "--threads",
    type=click.IntRange(1, MAX_THREADS),
    metavar="N",
    help=f"Threads of the simulation, on which results do not depend. [default: 1; from {THREADED_NODES} nodes on all cores]",
)
"""Decorator: adds `--threads`, passed as `threads: int | None`."""
