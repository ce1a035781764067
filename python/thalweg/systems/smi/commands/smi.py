# SPDX-License-Identifier: Apache-2.0
"""`thalweg smi`: SMI programs; each command is loaded when it is called."""

from __future__ import annotations

import click

from thalweg.commands.lazy import LazyGroup

COMMANDS = {
    "run": "Run kernels on the ranks of a cluster, in simulated time.",
    "extract": "Extract a program's operations from its source.",
    "generate": "Generate a rank's endpoints, host header and hardware.",
    "cmake": "Print the path of a CMake module for all of these.",
}


@click.command(cls=LazyGroup, package=__package__, about=COMMANDS)
def command() -> None:
    """SMI, streaming messages: programs in OpenCL C or C++ that push and pop."""
