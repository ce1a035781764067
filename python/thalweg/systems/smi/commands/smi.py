# SPDX-License-Identifier: Apache-2.0
"""`thalweg smi`: programs of streaming messages, each command loaded when it is called."""

from __future__ import annotations

import importlib

import click

COMMANDS = {
    "run": "Run kernels on the ranks of a cluster, in simulated time.",
    "extract": "Find a program's operations in its source.",
    "generate": "Write what a program needs of a rank: endpoints, a host's header, hardware.",
    "cmake": "Print where the CMake function is that does these and routes the cluster.",
}


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = importlib.import_module(f"thalweg.systems.smi.commands.{cmd_name}").command
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=_Lazy)
def command() -> None:
    """Streaming messages: programs in OpenCL C or C++ that push and pop."""
