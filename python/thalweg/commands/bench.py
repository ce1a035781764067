# SPDX-License-Identifier: Apache-2.0
"""`thalweg bench`: one operation, measured over sizes or loads, verified, beside its bound."""

from __future__ import annotations

import click

from thalweg.commands.of_cluster import OfCluster, names, operations


class _Operations(click.Group):
    """All that some system has."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return names(operations)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return OfCluster(cmd_name, operations) if cmd_name in names(operations) else None


@click.command(cls=_Operations, context_settings={"max_content_width": 120})
def command() -> None:
    """Measure one operation on a cluster, verified, beside the time that nothing can beat.

    The second line says which event ends the time; share is bound / time. A bound is printed where one is proved.
    """
