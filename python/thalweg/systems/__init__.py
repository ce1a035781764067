# SPDX-License-Identifier: Apache-2.0
"""Registry of systems. Commands look systems up here, and refer to none by name.

A system is a package in this folder, or an installed package with an entry point of the group `thalweg.systems`, such
as `relay = "relay:SYSTEM"`. Until a system is used, only its description `SYSTEM` is loaded.
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
    """A command of a system, imported when it is called.

    `where` is `module:name` in the system's package, or `module:table` for a dictionary that contains the command by
    name. `help` is one line of description. `python` locates the Python function that the command calls
    (thalweg.interface); for an operation an `Operation` (thalweg.bench.operation).
    """

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
    """Description of a system; names are spelled as on the command line."""

    name: str
    about: str
    package: str  #: its Python package
    node_kinds: frozenset[str]  #: values of `kind` in [node.*] of its cluster files
    endings: frozenset[str] = frozenset()  #: suffixes of its cluster files other than TOML, such as `.json`
    operations: Mapping[str, Loaded] = field(default_factory=dict)  #: commands of `thalweg bench`
    refusals: Mapping[str, str] = field(default_factory=dict)  #: unsupported operations, with reasons
    commands: Mapping[str, Loaded] = field(default_factory=dict)  #: other commands, such as `run` and `rtl cosim`
    cluster: str = "cluster:Cluster"  #: the class of its clusters, with `load` and `load_file`
    default: bool = False  #: owns cluster files without node types

    @property
    def word(self) -> str:
        """Name of its folders and modules."""
        return self.name.replace("-", "_")

    def find(self, where: str) -> Any:
        """Returns the object `module:name` of its package."""
        module, _, name = where.partition(":")
        return getattr(importlib.import_module(f"{self.package}.{module}"), name)

    def clusters(self) -> type[Clusters]:
        found: type[Clusters] = self.find(self.cluster)
        return found

    def command(self, table: Mapping[str, Loaded], name: str) -> click.Command:
        """Returns a command of one of its tables. Raises InputError for an unknown name."""
        command: click.Command = self._one(self._entry(table, name).where, name)
        return command

    def python(self, table: Mapping[str, Loaded], name: str) -> Any:
        """Returns the Python function of a command. Raises InputError if it has none."""
        if where := self._entry(table, name).python:
            return self._one(where, name)
        raise InputError(f"{name} of {self.name} is available as a command only, not as a Python function")

    def _entry(self, table: Mapping[str, Loaded], name: str) -> Loaded:
        if not isinstance(name, str) or name not in table:
            known = ", ".join(table)
            why = f": {self.refusals[name]}" if isinstance(name, str) and name in self.refusals else ""
            raise InputError(f"{self.name} has no {name}{why}" + (f"; it has {known}" if known else ""))
        return table[name]

    def _one(self, where: str, name: str) -> Any:
        found = self.find(where)
        return found[name] if isinstance(found, dict) else found


@cache
def systems() -> dict[str, System]:
    """Returns all systems by name, the default first. Raises InputError if an installed system cannot be loaded."""
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
    except Exception as error:  # third-party code may raise anything
        raise InputError(f"system {entry.name} ({entry.value}) cannot be loaded: {error}") from error
    if not isinstance(system, System):
        raise InputError(f"system {entry.name} ({entry.value}) is not a thalweg.systems.System")
    return system
