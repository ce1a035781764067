# SPDX-License-Identifier: Apache-2.0
"""`thalweg accl`: programs that use ACCL's driver, each command loaded when it is called."""

from __future__ import annotations

import importlib

import click

COMMANDS = {
    "run": "Run a program that uses ACCL's driver: its ranks, and the server that it needs.",
    "serve": "Serve programs that use ACCL's driver, as its emulator does.",
    "emulator": "Stand in for ACCL's emulator where a program starts it.",
}


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = importlib.import_module(f"thalweg.systems.accl.commands.{cmd_name}").command
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=_Lazy)
def command() -> None:
    """Programs that use ACCL's driver, unchanged, on a simulated cluster."""
