# SPDX-License-Identifier: Apache-2.0
"""Commands that each system has its own of: the cluster among the arguments says whose is meant, or a system's name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any

import click

from thalweg.systems import Loaded, System, systems

Table = Callable[[System], Mapping[str, Loaded]]
"""Where a system has its commands of this sort."""


def operations(system: System) -> Mapping[str, Loaded]:
    return system.operations


def commands(system: System) -> Mapping[str, Loaded]:
    return system.commands


class OfCluster(click.Command):
    """The command `name` of the system whose cluster is named: by --cluster, or, where `first` is set, by the first argument.

    Where no cluster is named, the first system that has it answers, and its help says which others have it.
    """

    others = "such a cluster"  #: what is named for the help of another system

    def __init__(self, name: str, table: Table, first: bool = False) -> None:
        having = having_it(name, table)
        super().__init__(name.rpartition(" ")[2], help=table(having[0])[name].help)
        self.key, self.table, self.first = name, table, first

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        return self._chosen(args).make_context(info_name, args, parent, **extra)

    def _chosen(self, args: Sequence[str]) -> click.Command:
        if system := self._system(args):
            return system.command(self.table(system), self.key)
        first, *others = having_it(self.key, self.table)
        command = copy(first.command(self.table(first), self.key))
        if others:
            names = " and ".join(system.name for system in others)
            command.epilog = f"This is {first.name}'s. For that of {names}: name {self.others}, then --help."
        return command

    def _system(self, args: Sequence[str]) -> System | None:
        from thalweg.cluster.file import system_of

        if not (named := self._cluster(args)):
            return None
        system = system_of(named)
        if system.default and self.key not in self.table(system):
            system.clusters().load(named)  # which says why, where the name is no cluster's
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


class OfSystem(OfCluster):
    """The same, of the system that the first argument names."""

    others = "the system"

    def _system(self, args: Sequence[str]) -> System | None:
        return next((systems()[word] for word in args[:1] if word in systems()), None)


def having_it(name: str, table: Table) -> list[System]:
    return [system for system in systems().values() if name in table(system)]


def names(table: Table) -> list[str]:
    """Of all that some system has, each once."""
    return list(dict.fromkeys(name for system in systems().values() for name in table(system)))
