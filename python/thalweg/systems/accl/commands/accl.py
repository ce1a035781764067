# SPDX-License-Identifier: Apache-2.0
"""`thalweg accl`: programs that use ACCL's driver, each command loaded when it is called."""

from __future__ import annotations

import click

from thalweg.commands.lazy import LazyGroup

COMMANDS = {
    "run": "Run a program that uses ACCL's driver or accl.hpp: its ranks, and the server that it needs.",
    "include": "Print the folder of the header accl.hpp, for C++ programs.",
    "serve": "Serve programs that use ACCL's driver, as its emulator does.",
    "kernels": "Show the kernels of a source, their arguments and what their loops take.",
    "programs": "Print the programs of moves that the engine's sequencer runs.",
    "emulator": "Stand in for ACCL's emulator where a program starts it.",
}


@click.command(cls=LazyGroup, package=__package__, about=COMMANDS)
def command() -> None:
    """Programs that use ACCL's driver, unchanged, or Thalweg's library of the same operations, on a simulated cluster."""
