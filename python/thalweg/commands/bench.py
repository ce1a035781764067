# SPDX-License-Identifier: Apache-2.0
"""`thalweg bench`: measures one operation over sizes or loads, verifies its results, and compares times with a bound."""

from __future__ import annotations

import click

from thalweg.commands.per_system import ClusterCommand, names, operations


class _Operations(click.Group):
    """The operations of all systems."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return names(operations)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return ClusterCommand(cmd_name, operations) if cmd_name in names(operations) else None


@click.command(cls=_Operations, context_settings={"max_content_width": 120})
def command() -> None:
    """Measure one operation on a cluster, verify its results, and compare times with a lower bound.

    The second line of output defines when an operation ends. The column share is bound / time. A bound is printed where
    one is proved.
    """
