# SPDX-License-Identifier: Apache-2.0
"""`thalweg smi`: programs of streaming messages, each command loaded when it is called."""

from __future__ import annotations

import click

from thalweg.commands.lazy import LazyGroup

COMMANDS = {
    "run": "Run kernels on the ranks of a cluster, in simulated time.",
    "extract": "Find a program's operations in its source.",
    "generate": "Write what a program needs of a rank: endpoints, a host's header, hardware.",
    "cmake": "Print where the CMake function is that does these and routes the cluster.",
}


@click.command(cls=LazyGroup, package=__package__, about=COMMANDS)
def command() -> None:
    """Streaming messages: programs in OpenCL C or C++ that push and pop."""
