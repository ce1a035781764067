# SPDX-License-Identifier: Apache-2.0
"""A command group that loads each of its commands when it is called."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click


class LazyGroup(click.Group):
    """Commands of a package: each module NAME has one as `command`. `about` maps names to one line of help."""

    def __init__(self, *arguments: Any, package: str, about: Mapping[str, str], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._package, self._about = package, about

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._about)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._about:
            return None
        found: click.Command = importlib.import_module(f"{self._package}.{cmd_name}").command
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self._about.items()))
