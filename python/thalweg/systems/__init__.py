# SPDX-License-Identifier: Apache-2.0
"""The systems that there are, and what each of them has: the commands ask here, and know none by name.

A system is a package in this folder, or one that is installed beside Thalweg and has an entry point of the group `thalweg.systems`,
such as `relay = "relay:SYSTEM"`. Its description in `SYSTEM` is all that is read of it until it is used.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, Protocol

from thalweg.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    import click

    from thalweg.cluster import Cluster

GROUP = "thalweg.systems"


@dataclass(frozen=True)
class Loaded:
    """A command of a system's package, which is loaded when it is called: `module:name`, or `module:table` where a table has it by
    its name; a line that says what it does; and what it is in Python (thalweg.interface), which the command calls: of an operation
    that is an `Operation` (thalweg.bench.operation), of others a function."""

    where: str
    help: str = ""
    python: str = ""


class Clusters(Protocol):
    """The class of a system's clusters."""

    @staticmethod
    def load(name: str | Path, faults: str | None = None) -> Cluster: ...
    @staticmethod
    def load_file(file: Path) -> Cluster: ...
    @staticmethod
    def schema() -> dict[str, Any]: ...


@dataclass(frozen=True)
class System:
    """What a system has; names of things are as people type them."""

    name: str
    about: str
    package: str  #: the Python package that has it all
    node_kinds: frozenset[str]  #: what a cluster file's [node.*] calls those of this system
    endings: frozenset[str] = frozenset()  #: of files that are its clusters and no TOML, such as `.json`
    operations: Mapping[str, Loaded] = field(default_factory=dict)  #: of `thalweg bench`: commands of click
    commands: Mapping[str, Loaded] = field(default_factory=dict)  #: others, such as `run` and `rtl cosim`
    cluster: str = "cluster:Cluster"  #: the class of its clusters, with `load` and `load_file`
    default: bool = False  #: clusters whose files name no kind of node are of this one

    @property
    def word(self) -> str:
        """That which finds everything of it in the tree."""
        return self.name.replace("-", "_")

    def find(self, where: str) -> Any:
        """What stands at `module:name` of its package."""
        module, _, name = where.partition(":")
        return getattr(importlib.import_module(f"{self.package}.{module}"), name)

    def clusters(self) -> type[Clusters]:
        found: type[Clusters] = self.find(self.cluster)
        return found

    def command(self, table: Mapping[str, Loaded], name: str) -> click.Command:
        """That of one of its tables. Raises InputError where it has none of that name."""
        command: click.Command = self._one(self._entry(table, name).where, name)
        return command

    def python(self, table: Mapping[str, Loaded], name: str) -> Any:
        """What the same is in Python. Raises InputError where it is a command alone."""
        if where := self._entry(table, name).python:
            return self._one(where, name)
        raise InputError(f"{name} of {self.name} is a command alone, and no function")

    def _entry(self, table: Mapping[str, Loaded], name: str) -> Loaded:
        if name not in table:
            known = ", ".join(table)
            raise InputError(f"{self.name} has no {name}" + (f"; it has {known}" if known else ""))
        return table[name]

    def _one(self, where: str, name: str) -> Any:
        found = self.find(where)
        return found[name] if isinstance(found, dict) else found


@cache
def systems() -> dict[str, System]:
    """All of them by name, the default first. Raises InputError where an installed one can't be loaded."""
    found = [
        importlib.import_module(f"{__name__}.{info.name}").SYSTEM
        for info in pkgutil.iter_modules(__path__)
        if info.ispkg
    ]
    found += [_installed(entry) for entry in entry_points(group=GROUP)]
    return {system.name: system for system in sorted(found, key=lambda system: (not system.default, system.name))}


def _installed(entry: EntryPoint) -> System:
    try:
        system = entry.load()
    except Exception as error:  # whatever its code raises
        raise InputError(f"system {entry.name} ({entry.value}) can't be loaded: {error}") from error
    if not isinstance(system, System):
        raise InputError(f"system {entry.name} ({entry.value}) is no thalweg.systems.System")
    return system
