# SPDX-License-Identifier: Apache-2.0
"""`thalweg accl`: programs that use ACCL's driver. Each command is loaded on demand."""

from __future__ import annotations

import click

from thalweg.commands.lazy import LazyGroup

COMMANDS = {
    "run": "Run the ranks of a program that uses ACCL's driver or accl.hpp, with a server.",
    "include": "Print the folder of the header accl.hpp for C++ programs.",
    "serve": "Serve programs that use ACCL's driver, like its emulator.",
    "kernels": "Show the kernels of a source, their arguments, and the cycles of their loops.",
    "programs": "Print the sequencer's programs of moves.",
    "emulator": "Replace ACCL's emulator in programs that start it.",
}


@click.command(cls=LazyGroup, package=__package__, about=COMMANDS)
def command() -> None:
    """Run programs that use ACCL's driver, unchanged, or Thalweg's library of the same operations, on a simulated cluster."""
