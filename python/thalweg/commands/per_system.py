# SPDX-License-Identifier: Apache-2.0
"""Commands with an implementation per system, selected by the cluster or the system among the arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any

import click

from thalweg.systems import Loaded, System, systems

Table = Callable[[System], Mapping[str, Loaded]]
"""Selects one of a system's command tables: `operations` or `commands`."""


def operations(system: System) -> Mapping[str, Loaded]:
    return system.operations


def commands(system: System) -> Mapping[str, Loaded]:
    return system.commands


class ClusterCommand(click.Command):
    """The command `name` of the system that the cluster belongs to.

    The cluster is given by `--cluster` or, if `first` is set, by the first argument. Without a cluster, the command of
    the first system that has one is used, and its help lists the other systems.
    """

    others = "one of its clusters"  #: what to give for the help of another system

    def __init__(self, name: str, table: Table, first: bool = False) -> None:
        having = systems_with(name, table)
        super().__init__(name.rpartition(" ")[2], help=table(having[0])[name].help)
        self.key, self.table, self.first = name, table, first

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        return self._chosen(args).make_context(info_name, args, parent, **extra)

    def _chosen(self, args: Sequence[str]) -> click.Command:
        if system := self._system(args):
            return system.command(self.table(system), self.key)
        first, *others = systems_with(self.key, self.table)
        command = copy(first.command(self.table(first), self.key))
        if others:
            names = " and ".join(system.name for system in others)
            command.epilog = f"This is the help for {first.name}. For {names}: give {self.others}, then --help."
        return command

    def _system(self, args: Sequence[str]) -> System | None:
        from thalweg.cluster.file import system_of

        if not (named := self._cluster(args)):
            return None
        system = system_of(named)
        if system.default and self.key not in self.table(system):
            system.clusters().load(named)  # raises an error that explains an invalid cluster
        return system

    def _cluster(self, args: Sequence[str]) -> str | None:
        from thalweg.cluster.file import path_of

        for index, word in enumerate(args):
            if word == "--":
                break
            if word.startswith("--cluster="):
                return word.partition("=")[2]
            if word == "--cluster":
                return args[index + 1] if index + 1 < len(args) else None
            if self.first and not word.startswith("-") and path_of(word):
                return word
        return None


class SystemCommand(ClusterCommand):
    """The command `name` of the system that the first argument names."""

    others = "the system"

    def _system(self, args: Sequence[str]) -> System | None:
        return next((systems()[word] for word in args[:1] if word in systems()), None)


def systems_with(name: str, table: Table) -> list[System]:
    """Returns the systems that have the command `name`."""
    return [system for system in systems().values() if name in table(system)]


def names(table: Table) -> list[str]:
    """Returns the names of all systems' commands, without repetition."""
    return list(dict.fromkeys(name for system in systems().values() for name in table(system)))
